#include "Support/File.h"
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tensorturbo;

static std::string reason(const char *what, const std::string &path) {
  return std::string(what) + " " + quoteForMessage(path, 400) + ": " + std::strerror(errno);
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path, Diagnostics &diags) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    diags.userError(reason("cannot open", path));
    return nullptr;
  }
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    diags.userError("cannot open " + quoteForMessage(path, 400) + ": not a regular file");
    close(fd);
    return nullptr;
  }
  size_t size = static_cast<size_t>(info.st_size);
  void *bytes = nullptr;
  if (size) {
    bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
      diags.userError(reason("cannot map", path));
      close(fd);
      return nullptr;
    }
  }
  close(fd);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, static_cast<const uint8_t *>(bytes), size));
}

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<uint8_t *>(bytes), length);
}

static bool writeAll(int fd, ByteSpan bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1u << 30));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// Names of unfinished files. More at a time than there is room for are not guarded.
static std::array<std::atomic<const char *>, 16> unfinished{};

UnfinishedFile::UnfinishedFile(std::string name) : path(std::move(name)) {
  for (size_t i = 0; i < unfinished.size() && slot < 0; ++i) {
    const char *empty = nullptr;
    if (unfinished[i].compare_exchange_strong(empty, path.c_str()))
      slot = static_cast<int>(i);
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (slot >= 0)
    unfinished[static_cast<size_t>(slot)] = nullptr;
}

void tensorturbo::removeUnfinishedFiles() noexcept {
  for (const std::atomic<const char *> &entry : unfinished)
    if (const char *path = entry.load())
      unlink(path);
}

bool tensorturbo::writeFileAtomically(const std::string &path, const std::vector<ByteSpan> &pieces,
                                      Diagnostics &diags) {
  // A rename would replace a device or a pipe by a file.
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    diags.userError("cannot write " + quoteForMessage(path, 400) + ": not a regular file");
    return false;
  }
  static std::atomic<unsigned> counter{0};
  std::string temporary = path + ".tmp" + std::to_string(getpid()) + "." + std::to_string(counter++);
  UnfinishedFile guard(temporary);
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    diags.userError(reason("cannot write", path), {}, "check that the folder exists and is writable");
    return false;
  }
  bool good = true;
  for (ByteSpan piece : pieces)
    good = good && writeAll(fd, piece);
  good = good && fsync(fd) == 0;
  int saved = errno;
  good = (close(fd) == 0) && good;
  if (good && rename(temporary.c_str(), path.c_str()) == 0)
    return true;
  if (!good)
    errno = saved;
  diags.userError(reason("cannot write", path));
  unlink(temporary.c_str());
  return false;
}
