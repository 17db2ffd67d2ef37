// The import itself: which nodes, which inputs, one node after the other, the finished function.
#include "Import/onnx/Importer.h"
#include "Dialect/Relay/RelayDialect.h"
#include "Import/onnx/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <algorithm>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

Importer::Importer(Model &model, mlir::MLIRContext &context, Diagnostics &diags)
    : model(model), context(context), diags(diags), builder(&context),
      currentLocation(mlir::UnknownLoc::get(&context)) {
  const std::string &path = model.file->path();
  fileName = path.substr(path.rfind('/') + 1);
}

Operand *Importer::lookup(std::string_view name) {
  for (size_t i = scopes.size(); i-- > 0;) {
    auto it = scopes[i]->values.find(name);
    if (it != scopes[i]->values.end())
      return &it->second;
  }
  return nullptr;
}

void Importer::define(std::string_view name, Operand operand) {
  scopes.back()->values[name] = std::move(operand);
}

std::string Importer::takeMessages() {
  return std::exchange(messages, {});
}

mlir::Value Importer::materialise(Operand &operand) {
  if (!operand.value)
    operand.value = relay::createConstant(builder, currentLocation, *operand.constant);
  return operand.value;
}

mlir::Location Importer::locationOf(std::string_view name, size_t index, std::string_view opType) {
  mlir::Location nameLocation = mlir::NameLoc::get(builder.getStringAttr(llvm::StringRef(name)));
  mlir::Location place = mlir::FileLineColLoc::get(&context, fileName, static_cast<unsigned>(index), 0);
  mlir::Attribute metadata;
  if (!opType.empty())
    metadata = builder.getStringAttr(llvm::StringRef(opType));
  return mlir::FusedLoc::get({nameLocation, place}, metadata, &context);
}

static void collectNames(const std::vector<Node> &nodes, std::unordered_set<std::string_view> &names) {
  for (const Node &node : nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute &a : node.attributes)
      if (a.graph) {
        collectNames(a.graph->nodes, names);
        for (const ValueInfo &v : a.graph->outputs)
          names.insert(v.name);
      }
  }
}

void Importer::collectUses(const Graph &graph) {
  collectNames(graph.nodes, used);
  for (const ValueInfo &v : graph.outputs)
    used.insert(v.name);
}

/// The nodes that outputs depend on, in order.
std::vector<const Node *> Importer::liveNodes(const Graph &graph) {
  std::unordered_set<std::string_view> needed;
  for (const ValueInfo &v : graph.outputs)
    needed.insert(v.name);
  std::vector<const Node *> live;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node &node = graph.nodes[i];
    bool alive = std::any_of(node.outputs.begin(), node.outputs.end(),
                             [&](std::string_view name) { return !name.empty() && needed.count(name); });
    if (!alive)
      continue;
    live.push_back(&node);
    needed.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute &a : node.attributes)
      if (a.graph) {
        collectNames(a.graph->nodes, needed);
        for (const ValueInfo &v : a.graph->outputs)
          needed.insert(v.name);
      }
  }
  std::reverse(live.begin(), live.end());
  return live;
}

bool Importer::checkSupport(const std::vector<const Node *> &nodes) {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const Node *>> missing;
  for (const Node *node : nodes)
    if (!findOp(*node))
      missing[{node->domain, node->opType}].push_back(node);
  if (missing.empty())
    return true;
  std::string text = missing.size() == 1 ? "1 operator is not supported: "
                                         : std::to_string(missing.size()) + " operators are not supported: ";
  size_t listed = 0;
  for (const auto &[key, users] : missing) {
    if (++listed > 40) {
      text += ", ...";
      break;
    }
    std::string name =
        key.first.empty() ? std::string(key.second) : std::string(key.first) + "." + std::string(key.second);
    text += (listed > 1 ? ", " : "") + quoteForMessage(name) + " version " + std::to_string(users[0]->opset) +
            " (" + std::to_string(users.size()) + (users.size() == 1 ? " node: " : " nodes: ");
    for (size_t i = 0; i < users.size() && i < 5; ++i)
      text += (i ? ", " : "") + quoteForMessage(users[i]->label(), 80);
    text += users.size() > 5 ? ", ...)" : ")";
  }
  diags.userError(std::move(text));
  return false;
}

static std::string describeShape(const ValueInfo &info) {
  if (!info.hasShape)
    return "no shape";
  std::string out = "[";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const Dim &d = info.dims[i];
    out += i ? ", " : "";
    if (!d.symbol.empty())
      out += quoteForMessage(d.symbol, 40);
    else
      out += d.value > 0 ? std::to_string(d.value) : "?";
  }
  return out + "]";
}

bool Importer::resolveShapes(const ShapeMap &shapes, const std::vector<const ValueInfo *> &inputs,
                             std::vector<Shape> &resolved) {
  bool ok = true;
  auto fail = [&](std::string message, std::string hint = {}) {
    diags.userError(std::move(message), {}, std::move(hint));
    ok = false;
  };
  std::vector<std::string> names;
  for (const ValueInfo *v : inputs)
    names.emplace_back(v->name);
  for (const auto &[name, shape] : shapes)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string nearest = nearestName(name, names), list;
      for (size_t i = 0; i < names.size() && i < 20; ++i)
        list += (i ? ", " : "") + quoteForMessage(names[i]);
      fail("shape: the model has no input " + quoteForMessage(name) + "; its inputs are " +
               (list.empty() ? "none" : list),
           nearest.empty() ? "" : "did you mean " + quoteForMessage(nearest) + "?");
    }

  // Symbolic extents that the given shapes settle hold for every input.
  std::map<std::string_view, std::pair<int64_t, std::string_view>> symbols;
  for (const ValueInfo *v : inputs) {
    auto given = shapes.find(std::string(v->name));
    if (given == shapes.end())
      continue;
    const Shape &shape = given->second;
    if (v->hasShape && shape.size() != v->dims.size()) {
      fail("shape: input " + quoteForMessage(v->name) + " has rank " + std::to_string(v->dims.size()) + " (" +
           describeShape(*v) + "), but " + shapeText(shape) + " was given");
      continue;
    }
    if (shape.size() > maxRank) {
      fail("shape: rank " + std::to_string(shape.size()) + " is too large");
      continue;
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] <= 0) {
        fail("shape: extents of input " + quoteForMessage(v->name) + " must be positive, but " +
             shapeText(shape) + " was given");
        break;
      }
      if (!v->hasShape || v->dims[i].symbol.empty() || v->dims[i].value > 0)
        continue;
      auto [it, added] = symbols.emplace(v->dims[i].symbol, std::make_pair(shape[i], v->name));
      if (!added && it->second.first != shape[i])
        fail("shape: dimension " + quoteForMessage(v->dims[i].symbol) + " is " +
             std::to_string(it->second.first) + " in input " + quoteForMessage(it->second.second) + ", but " +
             std::to_string(shape[i]) + " in input " + quoteForMessage(v->name));
    }
  }
  if (!ok)
    return false;

  std::string open, example;
  size_t openCount = 0;
  for (const ValueInfo *v : inputs) {
    auto given = shapes.find(std::string(v->name));
    Shape shape;
    bool complete = v->hasShape;
    if (given != shapes.end()) {
      shape = given->second;
      complete = true;
    } else {
      for (const Dim &d : v->dims) {
        auto symbol = d.symbol.empty() ? symbols.end() : symbols.find(d.symbol);
        shape.push_back(d.value > 0 ? d.value : symbol != symbols.end() ? symbol->second.first : -1);
        complete &= shape.back() > 0;
      }
    }
    resolved.push_back(shape);
    if (!complete) {
      if (++openCount <= 50)
        open += (openCount > 1 ? ", " : "") + quoteForMessage(v->name) + " " + describeShape(*v);
      if (example.empty()) {
        for (size_t i = 0; i < shape.size(); ++i)
          example += (i ? ", " : "") + std::to_string(shape[i] > 0 ? shape[i] : 1);
        example = "give shapes, for example shape={" + quoteForMessage(v->name) + ": [" +
                  (v->hasShape ? example : "1, 3, 224, 224") + "]}";
      }
      continue;
    }
    double bytes = 1;
    for (int64_t d : shape)
      bytes *= static_cast<double>(d);
    if (bytes * 8 > static_cast<double>(maxTensorBytes))
      fail("input " + quoteForMessage(v->name) + " of shape " + shapeText(shape) + " is too large");
  }
  if (openCount)
    fail("the shape of " + std::to_string(openCount) + (openCount == 1 ? " input" : " inputs") +
             " is not fully known: " + open + (openCount > 50 ? ", ..." : ""),
         example);
  return ok;
}

void Importer::defineInitializers(const Graph &graph) {
  for (const Tensor &t : graph.initializers) {
    Operand operand;
    std::optional<DType> dtype = toDType(t.dataType);
    operand.shape = t.dims;
    if (dtype) {
      operand.dtype = *dtype;
      Constant c;
      c.dtype = *dtype;
      c.shape = t.dims;
      c.data = t.data;
      c.bytes = t.bytes;
      c.owner = t.owner;
      operand.constant = std::move(c);
    } else {
      operand.unsupportedType = elementTypeName(t.dataType);
      operand.tensor = &t;
    }
    define(t.name, std::move(operand));
  }
}

bool Importer::isPoisoned(std::string_view name) const {
  for (size_t i = scopes.size(); i-- > 0;)
    if (scopes[i]->poisoned.count(name))
      return true;
  return false;
}

bool Importer::isPoisoned(const std::vector<Node> &nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node &node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](std::string_view name) { return isPoisoned(name); }) ||
           std::any_of(node.attributes.begin(), node.attributes.end(),
                       [&](const Attribute &a) { return a.graph && isPoisoned(a.graph->nodes); });
  });
}

static bool allSmallConstants(const OpContext &c) {
  int64_t total = 0;
  for (size_t i = 0; i < c.inputCount(); ++i)
    if (c.has(i)) {
      if (!c.constant(i))
        return false;
      total += c.constant(i)->elements();
    }
  return total <= maxFoldedElements;
}

void Importer::convertNode(const Node &node) {
  size_t index = ++converted;
  bool faultyInput = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](std::string_view name) { return isPoisoned(name); });
  for (const Attribute &a : node.attributes)
    faultyInput |= a.graph && isPoisoned(a.graph->nodes);
  auto poison = [&] {
    scopes.back()->poisoned.insert(node.outputs.begin(), node.outputs.end());
    scopes.back()->poisoned.erase("");
  };
  if (faultyInput)
    return poison();

  std::string label = node.label();
  mlir::Location outer = currentLocation;
  currentLocation = locationOf(label, index, node.opType);
  try {
    OpContext c(*this, node);
    const OpRow *row = findOp(node);
    auto inputCount = static_cast<int>(node.inputs.size());
    if (row->maxInputs >= 0 && inputCount > row->maxInputs)
      c.fail(std::string(row->name) + " takes at most " + std::to_string(row->maxInputs) +
             " inputs, but has " + std::to_string(inputCount));
    if (inputCount < row->minInputs)
      c.fail(std::string(row->name) + " needs " + std::to_string(row->minInputs) + " inputs, but has " +
             std::to_string(inputCount));
    for (int i = 0; i < row->minInputs; ++i)
      if (node.inputs[static_cast<size_t>(i)].empty())
        c.fail("input " + std::to_string(i) + " of " + row->name + " must not be omitted");
    for (size_t i = 0; i < c.inputCount(); ++i)
      if (c.has(i) && !row->anyType && !c.input(i).unsupportedType.empty())
        c.fail("input " + quoteForMessage(node.inputs[i]) + " has element type " +
               c.input(i).unsupportedType + ", which is not supported");
    Folder folder = findFolder(node.domain.empty() ? std::string_view(row->name) : std::string_view());
    if (!folder || !allSmallConstants(c) || !folder(c))
      row->convert(c);
    if (std::string unknown = c.unknownAttrs(); !unknown.empty())
      c.fail("attribute " + unknown + " of " + row->name + " is not supported in operator set " +
             std::to_string(node.opset));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (c.wants(i) && !scopes.back()->values.count(node.outputs[i]))
        c.fail("output " + std::to_string(i) + " of " + row->name + " (" + quoteForMessage(node.outputs[i]) +
               ") is not supported");
  } catch (const NodeError &e) {
    failed = true;
    if (e.resource)
      diags.resourceError(e.message, label, e.hint);
    else
      diags.userError(e.message, label, e.hint);
    poison();
  }
  currentLocation = outer;
}

std::vector<Operand> Importer::convertBranch(const Graph &graph) {
  std::vector<const Node *> nodes = liveNodes(graph);
  std::vector<Operand> results;
  if (!checkSupport(nodes))
    throw NodeError{"the chosen branch cannot be converted", {}};
  scopes.push_back(std::make_unique<Scope>());
  defineInitializers(graph);
  bool before = std::exchange(failed, false);
  for (const Node *node : nodes)
    convertNode(*node);
  for (const ValueInfo &v : graph.outputs) {
    Operand *operand = failed ? nullptr : lookup(v.name);
    if (operand)
      results.push_back(*operand);
  }
  scopes.pop_back();
  bool branchFailed = std::exchange(failed, before);
  if (branchFailed || results.size() != graph.outputs.size())
    throw NodeError{"the chosen branch cannot be converted", {}};
  return results;
}

bool Importer::checkOutputs() {
  bool ok = true;
  for (const ValueInfo &v : model.graph.outputs) {
    Operand *operand = lookup(v.name);
    if (!operand || !operand->unsupportedType.empty()) {
      diags.userError("output " + quoteForMessage(v.name) + " has element type " +
                      (operand ? operand->unsupportedType : "unknown") + ", which is not supported");
      ok = false;
      continue;
    }
    std::optional<DType> declared = toDType(v.elementType);
    if (v.kind == ValueInfo::Kind::Other ||
        (v.kind == ValueInfo::Kind::Tensor && declared != operand->dtype)) {
      diags.userError("output " + quoteForMessage(v.name) + " is declared as " +
                      (v.kind == ValueInfo::Kind::Other ? "no tensor" : elementTypeName(v.elementType)) +
                      ", but the graph computes " + dtypeName(operand->dtype));
      ok = false;
    }
  }
  return ok;
}

mlir::OwningOpRef<mlir::ModuleOp> Importer::run(const ShapeMap &shapes) {
  std::vector<const Node *> nodes = liveNodes(model.graph);
  if (!checkSupport(nodes))
    return nullptr;
  collectUses(model.graph);

  std::unordered_set<std::string_view> weights;
  for (const Tensor &t : model.graph.initializers)
    weights.insert(t.name);
  std::vector<const ValueInfo *> inputs;
  for (const ValueInfo &v : model.graph.inputs) {
    if (weights.count(v.name))
      continue;
    inputs.push_back(&v);
    if (v.kind != ValueInfo::Kind::Tensor || !toDType(v.elementType)) {
      diags.userError("input " + quoteForMessage(v.name) + " is " +
                      (v.kind == ValueInfo::Kind::Tensor  ? "a tensor of " + elementTypeName(v.elementType)
                       : v.kind == ValueInfo::Kind::Other ? "no tensor"
                                                          : "without type") +
                      ", which is not supported");
      failed = true;
    }
  }
  std::vector<Shape> inputShapes;
  if (!resolveShapes(shapes, inputs, inputShapes) || failed)
    return nullptr;

  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (messages.size() < 4000)
      messages += (messages.empty() ? "" : "; ") + d.str();
    return mlir::success();
  });
  mlir::Location fileLocation = mlir::FileLineColLoc::get(&context, fileName, 0, 0);
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(fileLocation));
  llvm::SmallVector<mlir::Type> inputTypes, outputTypes;
  for (size_t i = 0; i < inputs.size(); ++i)
    inputTypes.push_back(relay::tensorTypeFor(&context, *toDType(inputs[i]->elementType), inputShapes[i]));
  auto main = mlir::func::FuncOp::create(fileLocation, "main", builder.getFunctionType(inputTypes, {}));
  module->push_back(main);
  mlir::Block *block = main.addEntryBlock();
  builder.setInsertionPointToStart(block);

  scopes.push_back(std::make_unique<Scope>());
  defineInitializers(model.graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    mlir::BlockArgument argument = block->getArgument(static_cast<unsigned>(i));
    argument.setLoc(locationOf(inputs[i]->name, 0));
    main.setArgAttr(static_cast<unsigned>(i), "relay.name",
                    builder.getStringAttr(llvm::StringRef(inputs[i]->name)));
    Operand operand;
    operand.dtype = *toDType(inputs[i]->elementType);
    operand.shape = inputShapes[i];
    operand.value = argument;
    define(inputs[i]->name, std::move(operand));
  }
  llvm::SmallVector<mlir::Attribute> sourceNodes;
  for (const Node &node : model.graph.nodes)
    sourceNodes.append(
        {builder.getStringAttr(node.label()), builder.getStringAttr(llvm::StringRef(node.opType))});
  module->getOperation()->setAttr("relay.source_nodes", builder.getArrayAttr(sourceNodes));
  for (const Node *node : nodes)
    convertNode(*node);
  if (failed || !checkOutputs())
    return nullptr;

  llvm::SmallVector<mlir::Value> results;
  for (const ValueInfo &v : model.graph.outputs) {
    currentLocation = locationOf(v.name, 0);
    results.push_back(materialise(*lookup(v.name)));
    outputTypes.push_back(results.back().getType());
  }
  mlir::func::ReturnOp::create(builder, fileLocation, results);
  main.setType(builder.getFunctionType(inputTypes, outputTypes));
  for (size_t i = 0; i < results.size(); ++i)
    main.setResultAttr(static_cast<unsigned>(i), "relay.name",
                       builder.getStringAttr(llvm::StringRef(model.graph.outputs[i].name)));
  if (mlir::failed(mlir::verify(*module))) {
    diags.internalError("the imported module is not valid: " + takeMessages());
    return nullptr;
  }
  return module;
}

mlir::OwningOpRef<mlir::ModuleOp> onnx::importOnnx(const std::string &path, const ShapeMap &shapes,
                                                   mlir::MLIRContext &context, Diagnostics &diags) {
  context.loadDialect<mlir::func::FuncDialect, relay::RelayDialect>();
  std::unique_ptr<Model> model = loadModel(path, diags);
  if (!model)
    return nullptr;
  return Importer(*model, context, diags).run(shapes);
}
