// Cuts main into functions for the NPU and for the host.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tensorturbo {

/// Moves the operators of main into functions @npu_0, @host_0, ... (attribute `tt.target`), as few as an
/// order of the operators allows: runs of calls of primitive functions go to the NPU, everything else to the
/// host. What only changes the shape stays where its operand is made, or in main: it shares its operand's
/// memory.
///
///   %1 = call @fused_conv2d(%x)          %1:2 = call @npu_0(%x)
///   %2 = relay.argmax %1          ->     %2 = call @host_0(%1#0)
///   %3 = call @fused_conv2d_1(%1)        return %2, %1#1
void partition(mlir::ModuleOp module);

} // namespace tensorturbo
