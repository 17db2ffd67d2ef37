// Host code generation: linalg on tensors to a shared object in memory.
#pragma once
#include "Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include <memory>
#include <string>
#include <vector>

namespace tensorturbo {

struct HostOptions {
  /// Instruction set as LLVM names it. The default is a level, not the build machine, so that an object file
  /// runs wherever the level does: AVX2, FMA and the float16 conversions (any x86 server since 2013).
  std::string cpu = "x86-64-v3";
  /// LLVM's optimisation level, 0 to 3.
  int optimisation = 2;
};

/// Bytes that become a read-only symbol of the shared object. The module refers to them by an external
/// (public) memref.global of that name; they never become attributes, so their size costs no compile memory.
struct HostConstant {
  std::string symbol;
  const uint8_t *data = nullptr;
  size_t bytes = 0;
  /// Keeps `data` alive.
  std::shared_ptr<const void> owner;
};

/// Adds the upstream dialects that host code is made of, and the interfaces their lowering needs.
void registerHostDialects(mlir::DialectRegistry &registry);
/// The same for a context that exists, and loads them.
void loadHostDialects(mlir::MLIRContext &context);

/// Compiles a module of func, linalg, tensor, arith, math, scf on static tensors. Every public function "f"
/// becomes the exported C function `void tt_f(void **buffers)`: pointers to the inputs, then to the outputs,
/// dense row-major, aligned to their element; an i1 tensor has one byte for each element. Buffers must not
/// overlap; inputs are not written. Thread-safe code without state; temporaries come from malloc. The only
/// undefined symbols of the object are libc's and libm's. Changes the module (it is LLVM dialect afterwards).
/// Functions must have one block and call nothing. False after an internal error.
bool compileHostModule(mlir::ModuleOp module, const HostOptions &options,
                       const std::vector<HostConstant> &constants, std::vector<char> &sharedObject,
                       Diagnostics &diags);

} // namespace tensorturbo
