#include "runtime/Executor.h"
#include "tensorturbo/runtime.h"
#include <cstring>
#include <new>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

struct tt_executor {
  std::unique_ptr<Executor> executor;
  std::vector<tt_tensor_info> inputs, outputs;
  bool hasRun = false;
};

static thread_local std::string lastError;

/// Keeps the findings for tt_last_error().
static tt_status statusOf(const Diagnostics &diags) {
  if (!diags.hasErrors())
    return TT_OK;
  lastError = diags.render();
  while (!lastError.empty() && lastError.back() == '\n')
    lastError.pop_back();
  return static_cast<tt_status>(diags.exitCode());
}

static tt_status userError(const std::string &message) {
  Diagnostics diags;
  diags.userError(message);
  return statusOf(diags);
}

/// Runs `body(diags)` so that no exception reaches a C caller.
template <typename F> static tt_status guarded(F body) {
  Diagnostics diags;
  try {
    body(diags);
  } catch (const std::bad_alloc &) {
    diags.resourceError("out of memory");
  } catch (const std::exception &e) {
    diags.internalError(e.what());
  }
  return statusOf(diags);
}

static std::vector<tt_tensor_info> infosOf(const std::vector<TensorSpec> &specs) {
  std::vector<tt_tensor_info> out;
  for (const TensorSpec &s : specs)
    out.push_back({s.name.c_str(), dtypeName(s.dtype), s.shape.data(), s.shape.size(),
                   static_cast<size_t>(s.elements()) * dtypeSize(s.dtype)});
  return out;
}

const char *tt_version(void) {
  return TT_VERSION;
}
const char *tt_last_error(void) {
  return lastError.c_str();
}

tt_status tt_executor_load(const char *path, tt_executor **executor) {
  if (!path || !executor)
    return userError("tt_executor_load: a null pointer was given");
  *executor = nullptr;
  return guarded([&](Diagnostics &diags) {
    auto loaded = Executor::load(path, diags);
    if (!loaded)
      return;
    auto out = std::make_unique<tt_executor>();
    out->inputs = infosOf(loaded->metadata().inputs);
    out->outputs = infosOf(loaded->metadata().outputs);
    out->executor = std::move(loaded);
    *executor = out.release();
  });
}

void tt_executor_free(tt_executor *executor) {
  delete executor;
}

size_t tt_executor_input_count(const tt_executor *executor) {
  return executor ? executor->inputs.size() : 0;
}
size_t tt_executor_output_count(const tt_executor *executor) {
  return executor ? executor->outputs.size() : 0;
}

const tt_tensor_info *tt_executor_input(const tt_executor *executor, size_t index) {
  return executor && index < executor->inputs.size() ? &executor->inputs[index] : nullptr;
}

const tt_tensor_info *tt_executor_output(const tt_executor *executor, size_t index) {
  return executor && index < executor->outputs.size() ? &executor->outputs[index] : nullptr;
}

tt_status tt_executor_set_input(tt_executor *executor, const char *name, const char *dtype,
                                const int64_t *shape, size_t rank, const void *data) {
  if (!executor || !name || !data || (rank && !shape))
    return userError("tt_executor_set_input: a null pointer was given");
  TensorView view;
  view.data = data;
  if (rank)
    view.shape.assign(shape, shape + rank);
  if (dtype) {
    auto type = dtypeFromName(dtype);
    if (!type)
      return userError("unknown element type " + quoteForMessage(dtype));
    view.dtype = *type;
  } else {
    for (const TensorSpec &s : executor->executor->metadata().inputs)
      if (s.name == name)
        view.dtype = s.dtype;
  }
  return guarded([&](Diagnostics &diags) { executor->executor->setInputs({{name, view}}, diags); });
}

tt_status tt_executor_run(tt_executor *executor) {
  if (!executor)
    return userError("tt_executor_run: a null pointer was given");
  executor->hasRun = false;
  return guarded([&](Diagnostics &diags) { executor->hasRun = executor->executor->run(diags); });
}

tt_status tt_executor_get_output(const tt_executor *executor, size_t index, void *data, size_t bytes) {
  const tt_tensor_info *info = tt_executor_output(executor, index);
  if (!info || (!data && bytes))
    return userError("tt_executor_get_output: no such output, or a null pointer was given");
  if (!executor->hasRun)
    return userError("tt_executor_get_output: the model has not been run");
  if (bytes != info->bytes)
    return userError("output " + quoteForMessage(info->name) + " has " + std::to_string(info->bytes) +
                     " bytes, the buffer " + std::to_string(bytes));
  NpyArray array = executor->executor->output(index);
  if (bytes)
    std::memcpy(data, array.bytes.data(), bytes);
  return TT_OK;
}
