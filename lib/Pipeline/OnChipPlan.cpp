#include "Pipeline/OnChipPlan.h"
#include "Dialect/Tile/Tile.h"
#include "Target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tensorturbo;

static const target::MemoryRegion &regionOf(tile::MemoryLevel level) {
  const target::Target &chip = target::p920();
  return level == tile::MemoryLevel::LLB  ? chip.llb()
         : level == tile::MemoryLevel::L1 ? chip.l1()
                                          : chip.im();
}

static bool isInLlb(tile::GlobalOp global) {
  auto address = global.getAddress();
  return address && target::p920().llb().contains(static_cast<uint32_t>(*address));
}

OnChipPlan tensorturbo::onChipPlan(ModuleOp tileModule, const std::vector<DdrBuffer> &tensors) {
  OnChipPlan plan;
  llvm::StringMap<int64_t> partsOf;
  for (const DdrBuffer &tensor : tensors)
    if (tensor.inLlb && tensor.parts > 1)
      partsOf[tensor.name] = tensor.parts;
  auto planned = [&](tile::GlobalOp global) {
    auto parts = partsOf.find(global.getSymName());
    int64_t count = parts == partsOf.end() ? 1 : parts->second;
    return runtime::PlannedBuffer{global.getSymName().str(), static_cast<uint32_t>(*global.getAddress()),
                                  static_cast<uint32_t>(static_cast<int64_t>(global.getBytes()) / count),
                                  static_cast<int>(count)};
  };
  for (auto kernel : tileModule.getOps<func::FuncOp>()) {
    std::vector<runtime::PlannedBuffer> &buffers = plan.kernels[kernel.getName().str()];
    kernel.walk([&](tile::AllocOp alloc) {
      if (!alloc.getOffset())
        return;
      const target::MemoryRegion &region = regionOf(alloc.getBuffer().getType().getLevel());
      buffers.push_back({alloc.getName().str(), region.base + static_cast<uint32_t>(*alloc.getOffset()),
                         static_cast<uint32_t>(alloc.getBytes()), 1});
    });
    llvm::SmallPtrSet<Operation *, 8> seen;
    kernel.walk([&](tile::GlobalBufferOp use) {
      auto global = tileModule.lookupSymbol<tile::GlobalOp>(use.getGlobal());
      if (global && global.getAddress() && seen.insert(global).second)
        buffers.push_back(planned(global));
    });
  }
  for (auto global : tileModule.getOps<tile::GlobalOp>())
    if (isInLlb(global))
      plan.residents.push_back(planned(global));
  return plan;
}
