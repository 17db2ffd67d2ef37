#include "Lld/Lld.h"
#include "Support/File.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace tensorturbo {
namespace {

/// A temporary file that is removed at the end of the scope.
class TemporaryFile {
public:
  explicit TemporaryFile(const char *suffix) {
    llvm::SmallString<128> name;
    error = llvm::sys::fs::createTemporaryFile("tensorturbo", suffix, descriptor, name);
    path = name.str().str();
    guard.emplace(path);
  }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  std::string path;
  int descriptor = -1;
  std::error_code error;

private:
  /// An interruption must not leave the file behind.
  std::optional<UnfinishedFile> guard;
};

/// Writes and closes; an error code on failure (full disk ...).
std::error_code writeAll(TemporaryFile &file, std::string_view bytes) {
  llvm::raw_fd_ostream out(file.descriptor, /*shouldClose=*/true);
  out.write(bytes.data(), bytes.size());
  out.close();
  std::error_code error = out.error();
  out.clear_error();
  return error;
}

} // namespace

std::optional<std::vector<char>> linkElf(const std::vector<std::string_view> &objects,
                                         const std::vector<std::string> &arguments, Diagnostics &diags) {
  static std::mutex lldMutex;
  auto systemError = [&](std::error_code error) {
    diags.resourceError("temporary file of the linker cannot be written: " + error.message(), {},
                        "set TMPDIR to a folder with enough space");
    return std::nullopt;
  };
  std::vector<std::unique_ptr<TemporaryFile>> inputs;
  for (std::string_view object : objects) {
    auto file = std::make_unique<TemporaryFile>("o");
    if (file->error)
      return systemError(file->error);
    if (std::error_code error = writeAll(*file, object))
      return systemError(error);
    inputs.push_back(std::move(file));
  }
  TemporaryFile output("elf");
  if (output.error)
    return systemError(output.error);
  if (std::error_code error = writeAll(output, {}))
    return systemError(error);

  std::vector<const char *> command = {"ld.lld", "--threads=1"};
  for (const std::string &argument : arguments)
    command.push_back(argument.c_str());
  for (const std::unique_ptr<TemporaryFile> &input : inputs)
    command.push_back(input->path.c_str());
  command.push_back("-o");
  command.push_back(output.path.c_str());

  std::string outText, errorText;
  llvm::raw_string_ostream out(outText), errors(errorText);
  lld::Result result;
  {
    std::lock_guard<std::mutex> lock(lldMutex);
    static bool usable = true;
    if (!usable) {
      diags.internalError("the linker cannot be used again after an earlier failure");
      return std::nullopt;
    }
    result = lld::lldMain(command, out, errors, {{lld::Gnu, &lld::elf::link}});
    usable = result.canRunAgain;
  }
  if (result.retCode != 0) {
    diags.internalError("linking failed: " + quoteForMessage(errorText, 2000));
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getFile(output.path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return systemError(buffer.getError());
  return std::vector<char>((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
}

} // namespace tensorturbo
