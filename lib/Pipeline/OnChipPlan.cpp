#include "Pipeline/OnChipPlan.h"
#include "Dialect/Tile/Tile.h"
#include "Target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tensorturbo;

static const target::MemoryRegion &regionOf(tile::MemoryLevel level) {
  const target::Target &chip = target::p920();
  return level == tile::MemoryLevel::LLB  ? chip.llb()
         : level == tile::MemoryLevel::L1 ? chip.l1()
                                          : chip.im();
}

OnChipPlan tensorturbo::onChipPlan(ModuleOp tileModule) {
  OnChipPlan plan;
  for (auto kernel : tileModule.getOps<func::FuncOp>())
    kernel.walk([&](tile::AllocOp alloc) {
      if (!alloc.getOffset())
        return;
      const target::MemoryRegion &region = regionOf(alloc.getBuffer().getType().getLevel());
      plan.kernels[kernel.getName().str()].push_back({alloc.getName().str(),
                                                      region.base + static_cast<uint32_t>(*alloc.getOffset()),
                                                      static_cast<uint32_t>(alloc.getBytes())});
    });
  for (auto global : tileModule.getOps<tile::GlobalOp>()) {
    auto address = global.getAddress();
    if (address && target::p920().llb().contains(static_cast<uint32_t>(*address)))
      plan.residents.push_back({global.getSymName().str(), static_cast<uint32_t>(*address),
                                static_cast<uint32_t>(global.getBytes())});
  }
  return plan;
}
