// Transfers between DDR and LLB beside the program: they run while kernels compute.
#pragma once
#include "Dialect/Tile/Tile.h"
#include "Schedule/Prefetch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tensorturbo::tile {

/// A tile.bring or tile.write_back whose side in LLB is a buffer of the kernel's own, so that another kernel
/// can start the transfer.
struct WantedTransfer {
  mlir::Operation *op = nullptr;
  bool outgoing = false;
  /// Bytes, and how much further on in DDR each part of the batch has its own (0: all have the same).
  int64_t bytes = 0, partBytes = 0;
  /// The tile.global in DDR.
  std::string global;
};

struct WantedTransfers {
  std::vector<WantedTransfer> list;
  /// LLB of the kernel's other buffers.
  int64_t otherLlbBytes = 0;
};

WantedTransfers wantedTransfers(mlir::func::FuncOp kernel);

/// A planned transfer: starts and waits are in `plan`, kernels are numbers of the list.
struct Transfer {
  WantedTransfer wanted;
  schedule::PrefetchTransfer plan;
  /// The tile.global in LLB that takes the place of the kernel's own buffer.
  std::string buffer;
};

/// Carries the transfers out and names their buffers. `kernels` are in the order of the program.
///
///   @k1: ...                           @k1: dma_start %w2 from %ddr2 ; ...
///   @k2: bring %w2, %ddr2 ; ...   ->   @k2: dma_wait ; ...
///
/// Every other tile.bring and tile.write_back becomes system DMA on the spot. A kernel in a loop does either
/// only in those rounds that the plan says.
void scheduleTransfers(mlir::ModuleOp module, const std::vector<mlir::func::FuncOp> &kernels,
                       std::vector<Transfer> &transfers);

} // namespace tensorturbo::tile
