// p920-vectors [--path=portable|avx2|avx512] FOLDER [NAME-PART]: runs the conformance vectors of a folder,
// optionally only the files whose name contains NAME-PART, on the best or on the given code path of the
// kernels. Prints each failure and closes with "N passed, N failed". Exit code 0 if all passed.
#include "Numerics/Kernels.h"
#include "VectorFolder.h"
#include <cstdio>
#include <string_view>

using namespace tensorturbo;

static bool choosePath(std::string_view name) {
  for (numerics::Path p : {numerics::Path::Portable, numerics::Path::Avx2, numerics::Path::Avx512})
    if (name == numerics::pathName(p) && numerics::pathSupported(p)) {
      numerics::forcePath(p);
      return true;
    }
  return false;
}

int main(int argc, char **argv) {
  constexpr std::string_view kOption = "--path=";
  int first = 1;
  if (argc > 1 && std::string_view(argv[1]).substr(0, kOption.size()) == kOption) {
    if (!choosePath(std::string_view(argv[1]).substr(kOption.size()))) {
      std::fprintf(stderr, "p920-vectors: no such code path on this host\n");
      return 2;
    }
    ++first;
  }
  if (argc - first < 1 || argc - first > 2) {
    std::fprintf(stderr, "usage: p920-vectors [--path=portable|avx2|avx512] FOLDER [NAME-PART]\n");
    return 2;
  }
  std::string error;
  auto report = [](const std::string &name, const std::string &what) {
    std::printf("FAILED %s: %s\n", name.c_str(), what.c_str());
  };
  auto result = vectors::runFolder(argv[first], argc - first == 2 ? argv[first + 1] : "", report, error);
  if (!result) {
    std::fprintf(stderr, "p920-vectors: %s\n", error.c_str());
    return 2;
  }
  std::printf("%zu passed, %zu failed\n", result->passed, result->failed);
  return result->failed || !result->passed ? 1 : 0;
}
