// C++ interface of TensorTurbo's run-time library: a thin wrapper over runtime.h.
#pragma once
#include "tensorturbo/runtime.h"
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tensorturbo {

/// What a failed call reports; status() tells whose fault it is.
class RuntimeError : public std::runtime_error {
public:
  explicit RuntimeError(tt_status status) : std::runtime_error(tt_last_error()), code(status) {}
  tt_status status() const { return code; }

private:
  tt_status code;
};

/// A loaded model. All functions throw RuntimeError.
class CompiledModel {
public:
  explicit CompiledModel(const std::string &path) {
    tt_executor *raw = nullptr;
    check(tt_executor_load(path.c_str(), &raw));
    handle.reset(raw);
  }

  size_t inputCount() const { return tt_executor_input_count(handle.get()); }
  size_t outputCount() const { return tt_executor_output_count(handle.get()); }
  const tt_tensor_info &input(size_t index) const { return known(tt_executor_input(handle.get(), index)); }
  const tt_tensor_info &output(size_t index) const { return known(tt_executor_output(handle.get(), index)); }

  /// `data` has the declared element type unless `dtype` says otherwise.
  void setInput(const std::string &name, const std::vector<int64_t> &shape, const void *data,
                const char *dtype = nullptr) {
    check(tt_executor_set_input(handle.get(), name.c_str(), dtype, shape.data(), shape.size(), data));
  }
  void run() { check(tt_executor_run(handle.get())); }
  /// The bytes of an output of the last run, in its declared element type.
  std::vector<uint8_t> outputBytes(size_t index) const {
    std::vector<uint8_t> bytes(output(index).bytes);
    check(tt_executor_get_output(handle.get(), index, bytes.data(), bytes.size()));
    return bytes;
  }

private:
  static void check(tt_status status) {
    if (status != TT_OK)
      throw RuntimeError(status);
  }
  static const tt_tensor_info &known(const tt_tensor_info *info) {
    if (!info)
      throw std::out_of_range("the model has no tensor of this index");
    return *info;
  }
  struct Free {
    void operator()(tt_executor *e) const { tt_executor_free(e); }
  };
  std::unique_ptr<tt_executor, Free> handle;
};

} // namespace tensorturbo
