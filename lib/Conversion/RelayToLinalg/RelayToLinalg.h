// relay functions to linalg on tensors, for the host.
#pragma once
#include "HostCpu/HostCpu.h"
#include "Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>

namespace tensorturbo {

/// What compileHostModule takes: a module of upstream dialects, and the constants that it refers to.
struct HostProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<HostConstant> constants;
};

/// Whether the host has a lowering for this kind of operator. A rare combination of attributes may still be
/// refused by convertRelayToLinalg.
bool hasHostLowering(mlir::Operation *op);

/// Translates functions of relay ops into a new module; names are kept, calls of other functions
/// (relay.primitive) are inlined. Unsigned and bool tensors become signless integers and bytes, which is how
/// they lie in buffers.
///
/// Arithmetic: float16 and bfloat16 are computed in float32 and rounded once at each op's result (to nearest,
/// ties to even); sums of float32 are float32, in an order that LLVM may change. Integer division by zero
/// gives 0, the quotient that does not fit wraps. Indices from data never reach outside of a tensor.
///
/// Every op without a lowering is reported (resource errors with the node's name); then there is no result.
std::optional<HostProgram> convertRelayToLinalg(llvm::ArrayRef<mlir::func::FuncOp> functions,
                                                Diagnostics &diags);

} // namespace tensorturbo
