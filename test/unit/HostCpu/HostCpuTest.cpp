#include "HostCpu/HostCpu.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tensorturbo;

namespace {

/// Compiles MLIR text and loads the result.
class HostCpu : public testing::Test {
protected:
  bool compile(const char *text, const HostOptions &options = {},
               const std::vector<HostConstant> &constants = {}) {
    loadHostDialects(context);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "the test's module does not parse";
      return false;
    }
    std::vector<char> bytes;
    if (!compileHostModule(*module, options, constants, bytes, diags))
      return false;
    int file = memfd_create("host", MFD_CLOEXEC);
    EXPECT_EQ(write(file, bytes.data(), bytes.size()), ssize_t(bytes.size()));
    library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << dlerror();
    close(file);
    return library;
  }
  void call(const char *symbol, std::vector<void *> buffers) {
    auto function = reinterpret_cast<void (*)(void **)>(dlsym(library, symbol));
    ASSERT_TRUE(function) << symbol;
    function(buffers.data());
  }
  void TearDown() override {
    if (library)
      dlclose(library);
  }

  mlir::MLIRContext context;
  Diagnostics diags;
  void *library = nullptr;
};

} // namespace

TEST_F(HostCpu, ElementwiseAndReduction) {
  ASSERT_TRUE(compile(R"(
func.func @host_3(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  %e = tensor.empty() : tensor<2x3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = math.tanh %x : f32
    %z = arith.addf %t, %y : f32
    linalg.yield %z : f32
  } -> tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2xf32>) -> tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%s : tensor<2x3xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %z = arith.addf %x, %acc : f32
    linalg.yield %z : f32
  } -> tensor<2xf32>
  return %s, %r : tensor<2x3xf32>, tensor<2xf32>
})")) << diags.render();
  float a[6] = {0, 1, -1, 2, -2, 0.5f}, b[3] = {10, 20, 30}, s[6] = {}, r[2] = {};
  call("tt_host_3", {a, b, s, r});
  for (int i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(s[i], std::tanh(a[i]) + b[i % 3]);
  EXPECT_FLOAT_EQ(r[0], s[0] + s[1] + s[2]);
  EXPECT_FLOAT_EQ(r[1], s[3] + s[4] + s[5]);
}

TEST_F(HostCpu, ArgumentReturnedAsResultIsCopied) {
  ASSERT_TRUE(
      compile("func.func @f(%a: tensor<4xi8>, %s: tensor<f64>) -> (tensor<4xi8>, tensor<f64>, tensor<4xi8>) {"
              "  return %a, %s, %a : tensor<4xi8>, tensor<f64>, tensor<4xi8> }"))
      << diags.render();
  int8_t a[4] = {1, -2, 3, -4}, b[4] = {}, c[4] = {};
  double s = 1.5, t = 0;
  call("tt_f", {a, &s, b, &t, c});
  EXPECT_EQ(std::vector<int8_t>(b, b + 4), (std::vector<int8_t>{1, -2, 3, -4}));
  EXPECT_EQ(std::vector<int8_t>(c, c + 4), (std::vector<int8_t>{1, -2, 3, -4}));
  EXPECT_EQ(t, 1.5);
}

TEST_F(HostCpu, StridedSlicesNeedNoRuntimeLibrary) {
  ASSERT_TRUE(compile(R"(
func.func @f(%a: tensor<3x2xf32>, %b: tensor<3x1xf32>) -> tensor<3x3xf32> {
  %e = tensor.empty() : tensor<3x3xf32>
  %x = tensor.insert_slice %a into %e[0, 0] [3, 2] [1, 1] : tensor<3x2xf32> into tensor<3x3xf32>
  %y = tensor.insert_slice %b into %x[0, 2] [3, 1] [1, 1] : tensor<3x1xf32> into tensor<3x3xf32>
  return %y : tensor<3x3xf32>
})")) << diags.render();
  float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {7, 8, 9}, c[9] = {};
  call("tt_f", {a, b, c});
  EXPECT_EQ(std::vector<float>(c, c + 9), (std::vector<float>{1, 2, 7, 3, 4, 8, 5, 6, 9}));
}

TEST_F(HostCpu, ConstantsAreSymbolsOfTheObject) {
  std::vector<float> w(1000);
  for (int i = 0; i < 1000; ++i)
    w[i] = float(i) * 0.5f;
  int32_t k[2] = {7, -9};
  std::vector<HostConstant> constants = {{"tt_const_0", reinterpret_cast<uint8_t *>(w.data()), 4000, nullptr},
                                         {"tt_const_1", reinterpret_cast<uint8_t *>(k), 8, nullptr}};
  ASSERT_TRUE(compile(R"(
memref.global @tt_const_0 : memref<1000xf32>
memref.global @tt_const_1 : memref<2xi32>
func.func @f() -> (tensor<1000xf32>, tensor<2xi32>) {
  %m = memref.get_global @tt_const_0 : memref<1000xf32>
  %t = bufferization.to_tensor %m restrict : memref<1000xf32> to tensor<1000xf32>
  %n = memref.get_global @tt_const_1 : memref<2xi32>
  %u = bufferization.to_tensor %n restrict : memref<2xi32> to tensor<2xi32>
  return %t, %u : tensor<1000xf32>, tensor<2xi32>
})",
                      {}, constants))
      << diags.render();
  std::vector<float> out(1000);
  int32_t outK[2] = {};
  call("tt_f", {out.data(), outK});
  EXPECT_EQ(out, w);
  EXPECT_EQ(outK[1], -9);
}

TEST_F(HostCpu, HalfPrecisionConversions) {
  ASSERT_TRUE(compile(R"(
func.func @f(%a: tensor<3xf16>, %b: tensor<3xbf16>) -> (tensor<3xbf16>, tensor<3xf16>) {
  %e = tensor.empty() : tensor<3xbf16>
  %g = tensor.empty() : tensor<3xf16>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%a, %b : tensor<3xf16>, tensor<3xbf16>) outs(%e, %g : tensor<3xbf16>, tensor<3xf16>) {
  ^bb0(%x: f16, %y: bf16, %o: bf16, %p: f16):
    %xf = arith.extf %x : f16 to f32
    %yf = arith.extf %y : bf16 to f32
    %xb = arith.truncf %xf : f32 to bf16
    %yh = arith.truncf %yf : f32 to f16
    linalg.yield %xb, %yh : bf16, f16
  } -> (tensor<3xbf16>, tensor<3xf16>)
  return %r#0, %r#1 : tensor<3xbf16>, tensor<3xf16>
})")) << diags.render();
  uint16_t a[3] = {0x3c00, 0xc000, 0x7c00}, b[3] = {0x3f80, 0xc000, 0x7f80}, c[3] = {}, d[3] = {};
  call("tt_f", {a, b, c, d});
  EXPECT_EQ(std::vector<uint16_t>(c, c + 3), std::vector<uint16_t>(b, b + 3));
  EXPECT_EQ(std::vector<uint16_t>(d, d + 3), std::vector<uint16_t>(a, a + 3));
}

TEST_F(HostCpu, UnknownProcessorIsAnError) {
  HostOptions options;
  options.cpu = "z80";
  EXPECT_FALSE(
      compile("func.func @f(%a: tensor<1xf32>) -> tensor<1xf32> { return %a : tensor<1xf32> }", options));
  EXPECT_EQ(diags.gravest(), ErrorClass::Internal);
}

TEST_F(HostCpu, CompilerRuntimeCallsAreFoundAtCompileTime) {
  // Conversion from double to half is a call of compiler-rt on x86.
  EXPECT_FALSE(compile(R"(
func.func @f(%a: tensor<f64>) -> tensor<f16> {
  %x = tensor.extract %a[] : tensor<f64>
  %y = arith.truncf %x : f64 to f16
  %t = tensor.from_elements %y : tensor<f16>
  return %t : tensor<f16>
})"));
  EXPECT_NE(diags.render().find("neither libc's nor libm's"), std::string::npos) << diags.render();
}
