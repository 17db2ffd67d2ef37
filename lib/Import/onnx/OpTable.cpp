// The table of operators, put together from its families.
#include "Import/onnx/Converter.h"
#include "Import/onnx/Import.h"
#include <map>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

static const OpTable &table() {
  static const OpTable rows = [] {
    OpTable t;
    addConvOps(t);
    addElementwiseOps(t);
    addActivationOps(t);
    addPoolOps(t);
    addMatrixOps(t);
    addNormalizationOps(t);
    addQuantizationOps(t);
    addReduceOps(t);
    addShapeOps(t);
    addIndexOps(t);
    addResizeOps(t);
    addControlOps(t);
    return t;
  }();
  return rows;
}

const OpRow *onnx::findOp(const Node &node) {
  using Index = std::multimap<std::pair<std::string_view, std::string_view>, const OpRow *>;
  static const Index index = [] {
    Index map;
    for (const OpRow &row : table())
      map.emplace(std::make_pair(std::string_view(row.domain), std::string_view(row.name)), &row);
    return map;
  }();
  auto [begin, end] = index.equal_range({node.domain, node.opType});
  for (auto it = begin; it != end; ++it)
    if (node.opset >= it->second->since && (it->second->until == 0 || node.opset <= it->second->until))
      return it->second;
  return nullptr;
}

std::vector<SupportedOp> onnx::supportedOps() {
  std::vector<SupportedOp> out;
  for (const OpRow &row : table())
    out.push_back({row.domain, row.name});
  return out;
}
