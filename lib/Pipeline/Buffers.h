// DDR memory of a partitioned module: one buffer per tensor that crosses an operator, planned over the whole
// run.
#pragma once
#include "Constants/ConstantStore.h"
#include "Conversion/RelayToTile/ConstantPool.h"
#include "Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <string>
#include <vector>

namespace tensorturbo {

/// One kernel call, or one host function, in the order of the run.
struct Step {
  bool npu = false;
  /// The call of the primitive (npu) or of the host function.
  mlir::func::CallOp call;
  /// NPU: number of the segment, shared by neighbouring kernels.
  int segment = 0;
  /// Buffer numbers.
  std::vector<size_t> inputs, outputs;
};

struct DdrBuffer {
  std::string name;
  uint64_t bytes = 0;
  /// Set for a constant that an operator reads as a tensor: name of its tile.global.
  std::string constant;
  int64_t firstUse = 0, lastUse = -1;
  /// It stays in LLB, at `address`: one of `parts` parts of the batch at a time.
  bool inLlb = false;
  int64_t parts = 1;
  uint32_t address = 0;
};

/// Values, buffers and steps of a partitioned module.
class BufferAssignment {
public:
  /// Walks main and the functions it calls. `pool` takes constants that operators read as tensors.
  BufferAssignment(mlir::ModuleOp module, tile::ConstantPool &pool);

  const std::vector<Step> &steps() const { return stepList; }
  std::vector<DdrBuffer> &buffers() { return bufferList; }
  const std::vector<DdrBuffer> &buffers() const { return bufferList; }
  /// Buffers of main's arguments and results.
  std::vector<size_t> arguments, results;

  /// Gives every buffer that is no constant an address from `start` on; checked. False after a resource
  /// error.
  bool plan(uint64_t start, Diagnostics &diags, uint64_t &end);

private:
  mlir::ModuleOp module;
  tile::ConstantPool &pool;
  std::vector<Step> stepList;
  std::vector<DdrBuffer> bufferList;
  llvm::DenseMap<mlir::Value, size_t> ofValue;
  int segments = 0;

  size_t create(mlir::Value v, const std::string &name);
  size_t bufferOf(mlir::Value v);
  void walk(mlir::func::FuncOp function, bool npu);
};

/// Bytes of a tensor in DDR: dense, bool one byte an element.
uint64_t tensorBytes(mlir::Type type);

} // namespace tensorturbo
