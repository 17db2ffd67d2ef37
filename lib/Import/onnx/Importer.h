// The state of one import. Internal to the importer.
#pragma once
#include "Import/onnx/Converter.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tensorturbo::onnx {

using ShapeMap = std::map<std::string, std::vector<int64_t>>;

class Importer {
public:
  Importer(Model &model, mlir::MLIRContext &context, Diagnostics &diags);

  mlir::OwningOpRef<mlir::ModuleOp> run(const ShapeMap &shapes);

  // For OpContext and the control-flow converters.
  mlir::OpBuilder &opBuilder() { return builder; }
  mlir::Location location() const { return currentLocation; }
  Operand *lookup(std::string_view name);
  void define(std::string_view name, Operand operand);
  bool isUsed(std::string_view name) const { return used.count(name) != 0; }
  /// Converts the nodes of a chosen branch in a scope of its own and gives back its outputs.
  std::vector<Operand> convertBranch(const Graph &graph);
  /// The program's value of an operand; a constant becomes part of the program when it is first needed.
  mlir::Value materialise(Operand &operand);
  /// Moves out the messages that MLIR has reported since the last call.
  std::string takeMessages();

private:
  struct Scope {
    std::unordered_map<std::string_view, Operand> values;
    /// Values that a faulty node should have made; who uses them is not reported again.
    std::unordered_set<std::string_view> poisoned;
  };

  static std::vector<const Node *> liveNodes(const Graph &graph);
  /// Name of the node or value, its place in the file, and the node's operator as metadata.
  mlir::Location locationOf(std::string_view name, size_t index, std::string_view opType = {});
  void collectUses(const Graph &graph);
  bool checkSupport(const std::vector<const Node *> &nodes);
  bool resolveShapes(const ShapeMap &shapes, const std::vector<const ValueInfo *> &inputs,
                     std::vector<Shape> &resolved);
  bool checkOutputs();
  void defineInitializers(const Graph &graph);
  void convertNodes(const std::vector<const Node *> &nodes);
  void convertNode(const Node &node);
  bool isPoisoned(std::string_view name) const;
  bool isPoisoned(const std::vector<Node> &nodes) const;
  void poison(const Node &node);

  Model &model;
  mlir::MLIRContext &context;
  Diagnostics &diags;
  mlir::OpBuilder builder;
  mlir::Location currentLocation;
  std::string messages;
  std::vector<std::unique_ptr<Scope>> scopes;
  std::unordered_set<std::string_view> used;
  std::string fileName;
  size_t converted = 0;
  bool failed = false;
};

} // namespace tensorturbo::onnx
