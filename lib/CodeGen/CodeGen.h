// From npu kernels to a linked RISC-V program.
#pragma once
#include "Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/ObjectFile.h"
#include <optional>
#include <string>
#include <vector>

namespace tensorturbo::codegen {

/// Kernels of one NPU segment in the order in which every core runs them.
using KernelList = std::vector<std::string>;

/// Address at which the program is linked, and the first one it may not reach (the weights follow there).
inline constexpr uint32_t programStart = 0x01400000;
inline constexpr uint32_t programEnd = 0x02000000;

/// Compiles and links the kernels of `module`: func.func without arguments or results, in the dialects npu,
/// scf, cf, arith and func. The program starts at `_start` on every core, and runs the segment whose index
/// stands in the word `tt_segment`, with a barrier after every kernel; it ends by `tohost`. Gives back
/// segments, symbols (every kernel keeps its own) and the section .tt.provenance. `module` is not changed.
/// Nothing after errors: an unknown kernel name, a kernel with arguments, an op of another dialect and
/// everything LLVM or the linker refuses are internal errors; a program that is too large is a resource
/// error.
std::optional<runtime::ObjectFile>
generateProgram(mlir::ModuleOp module, const std::vector<KernelList> &segments, Diagnostics &diags);

/// The linked ELF file itself.
std::optional<std::vector<char>> linkProgram(mlir::ModuleOp module, const std::vector<KernelList> &segments,
                                             Diagnostics &diags);

/// Assembly text of the start-up code: `_start`, the trap handler, the choice of the segment, `tohost`,
/// `tt_segment`, `tt_trap_info` and the stacks.
std::string startupAssembly(const std::vector<KernelList> &segments);

/// Names of source nodes in a location (and in those it was fused from), in order, each once.
std::vector<std::string> sourceNodes(mlir::Location location);

} // namespace tensorturbo::codegen
