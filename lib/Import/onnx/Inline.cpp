// Model-local functions are replaced by their nodes. The final size is known before anything is expanded, so
// that functions which double at every level are refused at once.
#include "Import/onnx/Model.h"
#include <algorithm>
#include <functional>
#include <unordered_map>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
using NameMap = std::unordered_map<std::string_view, std::string_view>;

class Inliner {
public:
  Inliner(Model &model, Diagnostics &diags) : model(model), diags(diags) {
    for (const Function &f : model.functions)
      functions.emplace(Key{f.domain, f.name, f.overload}, &f);
  }
  bool run();

private:
  /// What a function's body is rewritten with at one call.
  struct Binding {
    const Function *function;
    const Node *call;
    NameMap names;
    std::string prefix;
  };

  const Function *callee(const Node &node) const {
    auto it = functions.find(Key{node.domain, node.opType, node.overload});
    return it == functions.end() ? nullptr : it->second;
  }
  std::string_view intern(std::string text) { return model.names.emplace_back(std::move(text)); }
  /// Nodes after inlining, or more than the limit; false for recursion.
  bool sizeOf(const std::vector<Node> &nodes, size_t &size, int depth);
  bool sizeOf(const Function &function, size_t &size, int depth);
  void expand(std::vector<Node> nodes, std::vector<Node> &out);
  void call(const Node &node, const Function &function, std::vector<Node> &out);
  Node instantiate(const Node &node, Binding &binding);
  std::string_view rename(std::string_view name, Binding &binding);
  Graph instantiate(const Graph &graph, Binding &binding);

  Model &model;
  Diagnostics &diags;
  std::map<Key, const Function *> functions;
  std::map<const Function *, size_t> sizes;
  std::map<const Function *, bool> active;
  size_t calls = 0;
};

bool Inliner::sizeOf(const std::vector<Node> &nodes, size_t &size, int depth) {
  for (const Node &node : nodes) {
    size_t inner = 1;
    if (const Function *f = callee(node))
      if (!sizeOf(*f, inner, depth))
        return false;
    size = std::min(size + inner, maxInlinedNodes + 1);
    for (const Attribute &a : node.attributes)
      if (a.graph && !sizeOf(a.graph->nodes, size, depth))
        return false;
  }
  return true;
}

bool Inliner::sizeOf(const Function &function, size_t &size, int depth) {
  auto known = sizes.find(&function);
  if (known != sizes.end()) {
    size = known->second;
    return true;
  }
  if (active[&function]) {
    diags.userError("function " + quoteForMessage(function.name) + " calls itself");
    return false;
  }
  if (depth > maxGraphDepth) {
    diags.userError("functions call each other more than " + std::to_string(maxGraphDepth) + " deep");
    return false;
  }
  active[&function] = true;
  size = function.outputs.size();
  bool ok = sizeOf(function.nodes, size, depth + 1);
  active[&function] = false;
  sizes[&function] = size;
  return ok;
}

bool Inliner::run() {
  // Unused functions too: a recursive one is a fault of the file.
  for (const Function &f : model.functions) {
    size_t size = 0;
    if (!sizeOf(f, size, 0))
      return false;
  }
  size_t total = 0;
  if (!sizeOf(model.graph.nodes, total, 0))
    return false;
  if (total > maxInlinedNodes) {
    diags.userError("inlining the model's functions would make more than " + std::to_string(maxInlinedNodes) +
                    " nodes");
    return false;
  }
  std::vector<Node> out;
  expand(std::move(model.graph.nodes), out);
  model.graph.nodes = std::move(out);
  return true;
}

void Inliner::expand(std::vector<Node> nodes, std::vector<Node> &out) {
  for (Node &node : nodes) {
    for (Attribute &a : node.attributes)
      if (a.graph) {
        std::vector<Node> inner;
        expand(std::move(a.graph->nodes), inner);
        a.graph->nodes = std::move(inner);
      }
    if (const Function *f = callee(node))
      call(node, *f, out);
    else
      out.push_back(std::move(node));
  }
}

void Inliner::call(const Node &node, const Function &function, std::vector<Node> &out) {
  Binding binding{&function, &node, {}, node.label() + "/" + std::to_string(++calls) + "/"};
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    diags.userError("the call of function " + quoteForMessage(function.name) + " has " +
                        std::to_string(node.inputs.size()) + " inputs and " +
                        std::to_string(node.outputs.size()) + " outputs; the function has " +
                        std::to_string(function.inputs.size()) + " and " +
                        std::to_string(function.outputs.size()),
                    node.label());
    return;
  }
  for (size_t i = 0; i < function.inputs.size(); ++i)
    binding.names[function.inputs[i]] = i < node.inputs.size() ? node.inputs[i] : std::string_view();
  // An output that no node of the body makes (an input handed through, or named twice) needs a copy.
  std::vector<std::pair<std::string_view, std::string_view>> copies;
  for (size_t i = 0; i < function.outputs.size(); ++i) {
    std::string_view actual = i < node.outputs.size() ? node.outputs[i] : std::string_view();
    if (actual.empty())
      continue;
    auto [it, added] = binding.names.emplace(function.outputs[i], actual);
    if (!added)
      copies.push_back({it->second, actual});
  }
  std::vector<Node> body;
  for (const Node &inner : function.nodes)
    body.push_back(instantiate(inner, binding));
  for (auto [from, to] : copies) {
    Node identity;
    identity.name = intern(binding.prefix + "copy");
    identity.opType = "Identity";
    identity.inputs = {from};
    identity.outputs = {to};
    identity.opset = maxOpset;
    body.push_back(std::move(identity));
  }
  expand(std::move(body), out);
}

std::string_view Inliner::rename(std::string_view name, Binding &binding) {
  if (name.empty())
    return name;
  auto it = binding.names.find(name);
  if (it == binding.names.end())
    it = binding.names.emplace(name, intern(binding.prefix + std::string(name))).first;
  return it->second;
}

Node Inliner::instantiate(const Node &node, Binding &binding) {
  Node copy = node;
  copy.name = intern(binding.prefix + node.label());
  for (std::string_view &name : copy.inputs)
    name = rename(name, binding);
  for (std::string_view &name : copy.outputs)
    name = rename(name, binding);
  std::vector<Attribute> attributes;
  for (Attribute &a : copy.attributes) {
    if (!a.reference.empty()) {
      const Attribute *given = binding.call->attribute(a.reference);
      for (const Attribute &fallback : binding.function->defaults)
        if (!given && fallback.name == a.reference)
          given = &fallback;
      // Without a value the attribute is simply absent.
      if (!given)
        continue;
      std::string_view name = a.name;
      a = *given;
      a.name = name;
      a.reference = {};
    } else if (a.graph) {
      a.graph = std::make_shared<Graph>(instantiate(*a.graph, binding));
    }
    attributes.push_back(std::move(a));
  }
  copy.attributes = std::move(attributes);
  return copy;
}

Graph Inliner::instantiate(const Graph &graph, Binding &binding) {
  Graph copy;
  copy.name = graph.name;
  copy.inputs = graph.inputs;
  copy.outputs = graph.outputs;
  copy.initializers = graph.initializers;
  for (ValueInfo &v : copy.inputs)
    v.name = rename(v.name, binding);
  for (ValueInfo &v : copy.outputs)
    v.name = rename(v.name, binding);
  for (Tensor &t : copy.initializers)
    t.name = rename(t.name, binding);
  for (const Node &node : graph.nodes)
    copy.nodes.push_back(instantiate(node, binding));
  return copy;
}

} // namespace

bool onnx::inlineFunctions(Model &model, Diagnostics &diags) {
  if (model.functions.empty())
    return true;
  Diagnostics local;
  bool ok = Inliner(model, local).run() && !local.hasErrors();
  for (Diagnostic &d : local.all())
    diags.report(std::move(d));
  // The nodes' attributes still share tensors with the functions; the functions themselves are done with.
  if (ok)
    model.functions.clear();
  return ok && validateNames(model, diags);
}
