// C++ text of npu kernels: what a user reads in dump_file. It compiles with clang for riscv32 to a program
// that does the same as the linked one.
#pragma once
#include "CodeGen/CodeGen.h"
#include "Dialect/Npu/Npu.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace tensorturbo::codegen {

/// The whole file: intrinsics that the kernels use, the kernels, start-up code. Nothing after an internal
/// error (an op that has no C++ form).
std::optional<std::string> printCpp(mlir::ModuleOp module, const std::vector<KernelList> &segments,
                                    Diagnostics &diags);

/// C++ name of an instruction op's function: "veadd_mm", with dm "veadd_mv_dm".
std::string intrinsicName(npu::Instruction insn);
/// "csr_shape_s1".
std::string csrFunctionName(llvm::StringRef csr);

/// What the kernels of a file use.
struct UsedIntrinsics {
  /// One op for each function name.
  std::map<std::string, npu::Instruction> instructions;
  llvm::SetVector<llvm::StringRef> csrs;

  static UsedIntrinsics of(mlir::ModuleOp module);
  /// Definitions of these functions.
  void print(llvm::raw_ostream &out) const;
};

} // namespace tensorturbo::codegen
