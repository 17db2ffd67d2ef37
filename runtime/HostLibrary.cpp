#include "runtime/HostLibrary.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tensorturbo;
using namespace tensorturbo::runtime;

static bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

static void *openPath(const std::string &path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::unique_ptr<HostLibrary> HostLibrary::load(const Bytes &image, Diagnostics &diags) {
  // An anonymous file in memory, reached through /proc; where /proc is missing, a temporary file.
  bool inMemory = access("/proc/self/fd", X_OK) == 0;
  char temporary[] = "/tmp/tensorturbo-host-XXXXXX";
  int fd = inMemory ? memfd_create("tensorturbo-host", MFD_CLOEXEC) : mkstemp(temporary);
  if (fd < 0 || !writeAll(fd, image.view())) {
    diags.resourceError(std::string("cannot unpack the host part of the object file: ") +
                        std::strerror(errno));
    if (fd >= 0)
      close(fd);
    return nullptr;
  }
  void *handle = openPath(inMemory ? "/proc/self/fd/" + std::to_string(fd) : temporary);
  std::string reason;
  if (!handle)
    reason = dlerror();
  if (!inMemory)
    unlink(temporary);
  if (!handle) {
    diags.userError("cannot load the host part of the object file: " + reason, {},
                    "an object file runs its host part only on the kind of machine it was compiled for");
    close(fd);
    return nullptr;
  }
  return std::unique_ptr<HostLibrary>(new HostLibrary(handle, fd));
}

HostLibrary::~HostLibrary() {
  dlclose(handle);
  close(fd);
}

HostLibrary::Function HostLibrary::function(const std::string &symbol) const {
  return reinterpret_cast<Function>(dlsym(handle, symbol.c_str()));
}
