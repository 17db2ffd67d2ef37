/* Runs the shared scalar code on the core. */
#include <stdint.h>
uint32_t scalarResults(uint32_t *out);
uint32_t results[8];
uint32_t test_main(uint32_t core) {
  if (core == 0)
    scalarResults(results);
  return 1;
}
