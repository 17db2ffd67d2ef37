// Versions, names and order: everything about a model that can be checked without knowing operators.
#include "Import/onnx/Model.h"
#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

class Validator {
public:
  explicit Validator(Diagnostics &diags)
      : undefinedNames(diags, "names that are not defined"),
        duplicates(diags, "names that are defined twice"), nodeErrors(diags, "faulty nodes"),
        cycles(diags, "cycles") {}

  /// A name that a graph takes from outside, and a node that uses it.
  struct Capture {
    std::string_view name;
    std::string user;
  };

  /// Checks and sorts `nodes`; gives back the names that must come from an outer scope.
  std::vector<Capture> checkNodes(std::vector<Node> &nodes, const std::vector<std::string_view> &defined,
                                  const std::vector<std::string_view> &results, const OpsetMap &opsets,
                                  bool inFunction);
  std::vector<Capture> checkGraph(Graph &graph, const OpsetMap &opsets, bool inFunction);
  void checkAttributes(const Node &node, bool inFunction);
  void reportUndefined(const std::vector<Capture> &captures);
  size_t errors() const {
    return undefinedNames.count() + duplicates.count() + nodeErrors.count() + cycles.count();
  }
  std::map<std::string_view, std::pair<size_t, std::string>> missingDomains;

private:
  void sortNodes(std::vector<Node> &nodes, const std::vector<std::vector<uint32_t>> &producers);

  LimitedReport undefinedNames, duplicates, nodeErrors, cycles;
};

void Validator::checkAttributes(const Node &node, bool inFunction) {
  std::set<std::string_view> names;
  for (const Attribute &a : node.attributes) {
    if (!names.insert(a.name).second)
      nodeErrors.error("attribute " + quoteForMessage(a.name) + " comes twice", node.label());
    if (!a.reference.empty() && !inFunction)
      nodeErrors.error("attribute " + quoteForMessage(a.name) +
                           " refers to a function's attribute outside a function",
                       node.label());
  }
  if (node.opType.empty())
    nodeErrors.error("the node has no operator", node.label());
}

std::vector<Validator::Capture> Validator::checkNodes(std::vector<Node> &nodes,
                                                      const std::vector<std::string_view> &defined,
                                                      const std::vector<std::string_view> &results,
                                                      const OpsetMap &opsets, bool inFunction) {
  constexpr uint32_t outside = ~0u;
  std::unordered_map<std::string_view, uint32_t> definitions;
  for (std::string_view name : defined)
    definitions.emplace(name, outside);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (std::string_view name : nodes[i].outputs)
      if (!name.empty() && !definitions.emplace(name, i).second)
        duplicates.error("the name " + quoteForMessage(name) + " is defined twice", nodes[i].label());

  std::vector<Capture> captures;
  std::unordered_set<std::string_view> captured;
  std::vector<std::vector<uint32_t>> producers(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    Node &node = nodes[i];
    checkAttributes(node, inFunction);
    auto use = [&](std::string_view name, const std::string &user) {
      auto it = definitions.find(name);
      if (it == definitions.end()) {
        if (captured.insert(name).second)
          captures.push_back({name, user});
      } else if (it->second != outside) {
        producers[i].push_back(it->second);
      }
    };
    for (std::string_view name : node.inputs)
      if (!name.empty())
        use(name, node.label());
    for (Attribute &a : node.attributes)
      if (a.graph)
        for (const Capture &c : checkGraph(*a.graph, opsets, inFunction))
          use(c.name, c.user);
    // After inlining, nodes keep the version that their function asked for.
    if (node.opset > 0)
      continue;
    auto opset = opsets.find(node.domain);
    if (opset == opsets.end()) {
      auto &entry = missingDomains[node.domain];
      if (entry.first++ == 0)
        entry.second = node.label();
    } else {
      node.opset = opset->second;
    }
  }
  for (std::string_view name : results)
    if (!definitions.count(name) && captured.insert(name).second)
      captures.push_back({name, {}});
  sortNodes(nodes, producers);
  return captures;
}

void Validator::sortNodes(std::vector<Node> &nodes, const std::vector<std::vector<uint32_t>> &producers) {
  std::vector<std::vector<uint32_t>> users(nodes.size());
  std::vector<uint32_t> waiting(nodes.size(), 0);
  for (uint32_t i = 0; i < nodes.size(); ++i)
    for (uint32_t p : producers[i]) {
      users[p].push_back(i);
      ++waiting[i];
    }
  // The smallest index first: a sorted file keeps its order.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<uint32_t>> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (!waiting[i])
      ready.push(i);
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    uint32_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (uint32_t u : users[i])
      if (--waiting[u] == 0)
        ready.push(u);
  }
  if (order.size() == nodes.size()) {
    if (!std::is_sorted(order.begin(), order.end())) {
      std::vector<Node> sorted;
      sorted.reserve(nodes.size());
      for (uint32_t i : order)
        sorted.push_back(std::move(nodes[i]));
      nodes = std::move(sorted);
    }
    return;
  }
  // Going back along waiting producers must come round to a node a second time: that is a cycle.
  uint32_t at = 0;
  while (!waiting[at])
    ++at;
  std::vector<uint32_t> path;
  std::vector<bool> seen(nodes.size());
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    for (uint32_t p : producers[at])
      if (waiting[p]) {
        at = p;
        break;
      }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::string text;
  for (size_t i = path.size(); i-- > 0;) {
    if (path.size() - i > 8) {
      text += " -> ...";
      break;
    }
    text += (text.empty() ? "" : " -> ") + quoteForMessage(nodes[path[i]].label(), 60);
  }
  cycles.error(path.size() == 1 ? "the node reads its own output" : "the nodes form a cycle: " + text,
               nodes[path.back()].label());
}

std::vector<Validator::Capture> Validator::checkGraph(Graph &graph, const OpsetMap &opsets, bool inFunction) {
  std::vector<std::string_view> defined, results;
  std::unordered_set<std::string_view> inputs, initializers;
  for (const ValueInfo &v : graph.inputs) {
    if (v.name.empty())
      duplicates.error("a graph input has no name");
    if (!inputs.insert(v.name).second)
      duplicates.error("two graph inputs have the name " + quoteForMessage(v.name));
    defined.push_back(v.name);
  }
  for (const Tensor &t : graph.initializers) {
    if (t.name.empty())
      duplicates.error("an initializer has no name");
    if (!initializers.insert(t.name).second)
      duplicates.error("two initializers have the name " + quoteForMessage(t.name));
    defined.push_back(t.name);
  }
  for (const ValueInfo &v : graph.outputs)
    results.push_back(v.name);
  return checkNodes(graph.nodes, defined, results, opsets, inFunction);
}

void Validator::reportUndefined(const std::vector<Capture> &captures) {
  for (const Capture &c : captures)
    undefinedNames.error((c.user.empty() ? "the graph output " : "the input ") + quoteForMessage(c.name) +
                             " is not defined by any node, input or initializer",
                         c.user);
}

bool checkVersions(const Model &model, Diagnostics &diags) {
  bool ok = true;
  auto fail = [&](std::string message, std::string hint = {}) {
    diags.userError(std::move(message), {}, std::move(hint));
    ok = false;
  };
  if (model.irVersion < minIrVersion || model.irVersion > maxIrVersion)
    fail("the model's IR version is " + std::to_string(model.irVersion) + "; versions " +
         std::to_string(minIrVersion) + " to " + std::to_string(maxIrVersion) + " are supported");
  if (model.opsets.empty())
    fail("the model does not say which operator set it uses (opset_import is missing)");
  auto checkOpset = [&](const OpsetMap &opsets, const std::string &where) {
    for (const auto &[domain, version] : opsets)
      if (version <= 0)
        fail(where + " imports version " + std::to_string(version) + " of domain " + quoteForMessage(domain));
    auto it = opsets.find("");
    if (it != opsets.end() && (it->second < minOpset || it->second > maxOpset))
      fail(where + " uses operator set " + std::to_string(it->second) + "; versions " +
               std::to_string(minOpset) + " to " + std::to_string(maxOpset) + " are supported",
           "onnx.version_converter.convert_version can bring the model to a supported version");
  };
  checkOpset(model.opsets, "the model");
  for (const Function &f : model.functions)
    checkOpset(f.opsets, "function " + quoteForMessage(f.name));
  if (model.graph.outputs.empty())
    fail("the graph has no outputs");
  std::set<std::string_view> names;
  for (const ValueInfo &v : model.graph.outputs)
    if (!names.insert(v.name).second)
      fail("two graph outputs have the name " + quoteForMessage(v.name));
  return ok;
}

} // namespace

bool onnx::validateModel(Model &model, Diagnostics &diags) {
  return checkVersions(model, diags) && validateNames(model, diags);
}

bool onnx::validateNames(Model &model, Diagnostics &diags) {
  bool ok = true;
  std::map<std::string_view, std::pair<size_t, std::string>> missing;
  {
    Validator validator(diags);
    validator.reportUndefined(validator.checkGraph(model.graph, model.opsets, false));
    std::set<std::tuple<std::string_view, std::string_view, std::string_view>> keys;
    for (Function &f : model.functions) {
      if (f.name.empty() || !keys.insert({f.domain, f.name, f.overload}).second) {
        diags.userError("function " + quoteForMessage(f.name) + " is defined twice or has no name");
        ok = false;
      }
      validator.reportUndefined(validator.checkNodes(f.nodes, f.inputs, f.outputs,
                                                     f.opsets.empty() ? model.opsets : f.opsets, true));
    }
    ok = ok && validator.errors() == 0;
    missing = std::move(validator.missingDomains);
  }
  for (const auto &[domain, use] : missing) {
    diags.userError("the domain " + quoteForMessage(domain) + " is used by " + std::to_string(use.first) +
                        " node(s) but not imported (opset_import)",
                    use.second);
    ok = false;
  }
  return ok;
}
