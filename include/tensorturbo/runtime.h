/* C interface of TensorTurbo's run-time library: loads a compiled model (.stcobj) and runs it. No compiler
 * and no Python are needed in the process.
 *
 * Functions that can fail return a status. tt_last_error() tells what went wrong in the last failed call of
 * the same thread. An executor may be used by one thread at a time; different executors are independent.
 * Loading a model loads its native host code: trust an object file as much as a program. */
#ifndef TENSORTURBO_RUNTIME_H
#define TENSORTURBO_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TT_OK = 0,
  TT_USER_ERROR = 1,     /* bad argument or file */
  TT_RESOURCE_ERROR = 2, /* does not fit, out of memory */
  TT_INTERNAL_ERROR = 3  /* fault of TensorTurbo */
} tt_status;

typedef struct tt_executor tt_executor;

/* An input or output of the model. Valid as long as its executor. */
typedef struct {
  const char *name;
  const char *dtype;    /* "float32", "float16", "int64" ... as the model declares it */
  const int64_t *shape; /* rank numbers; arrays are dense and row-major */
  size_t rank;
  size_t bytes;
} tt_tensor_info;

/* "0.1.0" */
const char *tt_version(void);
/* All findings of this thread's last failed call; never NULL. Valid until the thread's next call. */
const char *tt_last_error(void);

/* *executor is NULL after an error. */
tt_status tt_executor_load(const char *path, tt_executor **executor);
/* NULL is fine. */
void tt_executor_free(tt_executor *executor);

size_t tt_executor_input_count(const tt_executor *executor);
size_t tt_executor_output_count(const tt_executor *executor);
/* NULL if there is no such index. */
const tt_tensor_info *tt_executor_input(const tt_executor *executor, size_t index);
const tt_tensor_info *tt_executor_output(const tt_executor *executor, size_t index);

/* Copies an array. dtype NULL means the declared type; float16 is taken for float32 and the other way round.
 */
tt_status tt_executor_set_input(tt_executor *executor, const char *name, const char *dtype,
                                const int64_t *shape, size_t rank, const void *data);
tt_status tt_executor_run(tt_executor *executor);
/* Copies an output of the last run; `bytes` must be the size that tt_executor_output() names. */
tt_status tt_executor_get_output(const tt_executor *executor, size_t index, void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
