// The measured conformance vectors, on every code path of the kernels.
#include "Numerics/Kernels.h"
#include "VectorFolder.h"
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tensorturbo;

TEST(Conformance, AllVectorsOnEveryPath) {
  const char *root = std::getenv("TT_SHARED");
  std::filesystem::path folder = std::filesystem::path(root ? root : TT_TEST_SHARED) / "p920" / "vectors";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "conformance vectors not found at " << folder << " (set TT_SHARED)";
  for (numerics::Path path : {numerics::Path::Portable, numerics::Path::Avx2, numerics::Path::Avx512}) {
    if (!numerics::pathSupported(path))
      continue;
    numerics::forcePath(path);
    std::string error;
    auto result = vectors::runFolder(
        folder, "",
        [&](const std::string &name, const std::string &what) {
          ADD_FAILURE() << numerics::pathName(path) << ": " << name << ": " << what;
        },
        error);
    ASSERT_TRUE(result) << error;
    EXPECT_GT(result->passed, 4000u);
    EXPECT_EQ(result->failed, 0u);
  }
  numerics::forcePath(std::nullopt);
}
