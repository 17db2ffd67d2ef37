#include "Pipeline/Placement.h"
#include "Conversion/RelayToTile/RelayToTile.h"
#include "Dialect/Relay/Relay.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <unordered_map>

using namespace mlir;
using namespace tensorturbo;

static func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main");
}

void tensorturbo::placeOperators(ModuleOp module, int ncore, bool hostOnly) {
  Builder b(module.getContext());
  mainOf(module).walk([&](Operation *op) {
    if (isa<func::FuncOp, func::ReturnOp, relay::ConstantOp>(op))
      return;
    std::string reason = hostOnly ? "the target is the host" : tile::whyNotNpu(op, ncore);
    op->setAttr("tt.where", b.getStringAttr(reason.empty() ? "npu" : "host"));
    if (!reason.empty())
      op->setAttr("tt.reason", b.getStringAttr(reason));
  });
}

/// The operator of the source model, which the importer leaves as the location's metadata.
static std::string sourceOperator(Operation *op) {
  std::string name;
  op->getLoc()->walk([&](Location l) {
    if (auto fused = dyn_cast<FusedLoc>(l))
      if (auto text = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
        name = text.getValue().str();
    return name.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return name.empty() ? op->getName().getStringRef().str() : name;
}

std::vector<NodePlacement> tensorturbo::sourceNodes(ModuleOp module) {
  std::vector<NodePlacement> nodes;
  std::unordered_map<std::string, size_t> known;
  // Nodes that the importer evaluated left no operator behind; its list has them.
  if (auto list = module->getAttrOfType<ArrayAttr>("relay.source_nodes"))
    for (size_t i = 0; i + 1 < list.size(); i += 2) {
      std::string name = cast<StringAttr>(list[i]).getValue().str();
      if (known.emplace(name, nodes.size()).second)
        nodes.push_back({name, cast<StringAttr>(list[i + 1]).getValue().str(), "", ""});
    }
  mainOf(module).walk([&](Operation *op) {
    if (isa<func::FuncOp, func::ReturnOp, relay::ConstantOp>(op))
      return;
    for (const std::string &name : relay::nodeNames(op->getLoc()))
      if (known.emplace(name, nodes.size()).second)
        nodes.push_back({name, sourceOperator(op), "", ""});
  });
  return nodes;
}

void tensorturbo::resolvePlacement(ModuleOp placed, std::vector<NodePlacement> &nodes) {
  std::unordered_map<std::string, NodePlacement *> byName;
  for (NodePlacement &n : nodes)
    byName[n.name] = &n;
  mainOf(placed).walk([&](Operation *op) {
    auto where = op->getAttrOfType<StringAttr>("tt.where");
    if (!where)
      return;
    for (const std::string &name : relay::nodeNames(op->getLoc())) {
      auto found = byName.find(name);
      // A node counts as on the host if any part of it is.
      if (found == byName.end() || found->second->where == "host")
        continue;
      found->second->where = where.getValue().str();
      if (auto reason = op->getAttrOfType<StringAttr>("tt.reason"))
        found->second->reason = reason.getValue().str();
    }
  });
  for (NodePlacement &n : nodes)
    if (n.where.empty()) {
      n.where = "folded";
      n.reason = "constant, or merged into its neighbours";
    }
}
