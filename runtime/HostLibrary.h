// The host part of an object file: a shared object, loaded from memory without a compiler in the process.
#pragma once
#include "Support/Diagnostics.h"
#include "runtime/Bytes.h"
#include <memory>

namespace tensorturbo::runtime {

/// Loading runs the library's native code: an object file must be trusted as much as a program.
class HostLibrary {
public:
  /// Entry of a host segment: pointers to the inputs, then to the outputs, dense row-major.
  using Function = void (*)(void **buffers);

  /// Null after an error (not a shared object of this machine, say).
  static std::unique_ptr<HostLibrary> load(const Bytes &image, Diagnostics &diags);
  ~HostLibrary();
  HostLibrary(const HostLibrary &) = delete;
  HostLibrary &operator=(const HostLibrary &) = delete;

  /// Null if the library has no such symbol.
  Function function(const std::string &symbol) const;

private:
  HostLibrary(void *handle, int fd) : handle(handle), fd(fd) {}
  void *handle;
  /// Kept open: the dynamic linker recognises libraries by path, and the path holds this number.
  int fd;
};

} // namespace tensorturbo::runtime
