// Writes tiny ONNX models for the tests.
#pragma once
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace onnxtest {

using protozero::pbf_writer;

inline std::string nodeMessage(const std::string &op, const std::vector<std::string> &inputs,
                               const std::vector<std::string> &outputs, const std::string &domain = {},
                               const std::string &extra = {}) {
  std::string out;
  pbf_writer w(out);
  for (const std::string &i : inputs)
    w.add_string(1, i);
  for (const std::string &o : outputs)
    w.add_string(2, o);
  w.add_string(3, "node_" + outputs.front());
  w.add_string(4, op);
  if (!domain.empty())
    w.add_string(7, domain);
  return out + extra;
}

inline std::string valueMessage(const std::string &name, const std::vector<int64_t> &dims) {
  std::string shape, tensor, type, out;
  for (int64_t d : dims) {
    std::string dim;
    pbf_writer(dim).add_int64(1, d);
    pbf_writer(shape).add_message(1, dim);
  }
  pbf_writer t(tensor);
  t.add_int32(1, 1);
  t.add_message(2, shape);
  pbf_writer(type).add_message(1, tensor);
  pbf_writer w(out);
  w.add_string(1, name);
  w.add_message(2, type);
  return out;
}

/// A tensor with `fields` (data) behind dims, type and name.
inline std::string tensorMessage(const std::string &name, const std::vector<int64_t> &dims, int32_t type,
                                 const std::string &fields) {
  std::string out;
  pbf_writer w(out);
  w.add_packed_int64(1, dims.begin(), dims.end());
  w.add_int32(2, type);
  w.add_string(8, name);
  return out + fields;
}

/// Attributes for the `extra` of nodeMessage.
inline std::string intAttribute(const std::string &name, int64_t value) {
  std::string a, out;
  pbf_writer w(a);
  w.add_string(1, name);
  w.add_int64(3, value);
  w.add_enum(20, 2);
  pbf_writer(out).add_message(5, a);
  return out;
}

inline std::string intsAttribute(const std::string &name, const std::vector<int64_t> &values) {
  std::string a, out;
  pbf_writer w(a);
  w.add_string(1, name);
  w.add_packed_int64(8, values.begin(), values.end());
  w.add_enum(20, 7);
  pbf_writer(out).add_message(5, a);
  return out;
}

inline std::string graphAttribute(const std::string &name, const std::vector<std::string> &nodes,
                                  const std::string &output) {
  std::string graph, a, out;
  pbf_writer g(graph);
  for (const std::string &n : nodes)
    g.add_message(1, n);
  g.add_message(12, valueMessage(output, {2, 3}));
  pbf_writer w(a);
  w.add_string(1, name);
  w.add_message(6, graph);
  w.add_enum(20, 5);
  pbf_writer(out).add_message(5, a);
  return out;
}

inline std::string rawData(const void *data, size_t bytes) {
  std::string out;
  pbf_writer(out).add_bytes(9, static_cast<const char *>(data), bytes);
  return out;
}

inline std::string externalData(const std::vector<std::pair<std::string, std::string>> &entries) {
  std::string out;
  pbf_writer w(out);
  w.add_enum(14, 1);
  for (const auto &[key, value] : entries) {
    std::string entry;
    pbf_writer e(entry);
    e.add_string(1, key);
    e.add_string(2, value);
    w.add_message(13, entry);
  }
  return out;
}

struct Value {
  std::string name;
  std::vector<int64_t> dims;
};

struct Parts {
  std::vector<std::string> nodes{nodeMessage("Relu", {"x"}, {"y"})};
  std::vector<std::string> tensors;
  std::vector<std::string> functions;
  int64_t ir = 8;
  int64_t opset = 17;
  std::vector<std::pair<std::string, int64_t>> domains;
  std::vector<Value> inputs{{"x", {2, 3}}};
  std::vector<Value> outputs{{"y", {2, 3}}};
};

inline std::string modelMessage(const Parts &p) {
  std::string graph, out;
  pbf_writer g(graph);
  for (const std::string &n : p.nodes)
    g.add_message(1, n);
  g.add_string(2, "g");
  for (const std::string &t : p.tensors)
    g.add_message(5, t);
  for (const Value &v : p.inputs)
    g.add_message(11, valueMessage(v.name, v.dims));
  for (const Value &v : p.outputs)
    g.add_message(12, valueMessage(v.name, v.dims));
  pbf_writer w(out);
  w.add_int64(1, p.ir);
  w.add_message(7, graph);
  auto opset = [&](const std::string &domain, int64_t version) {
    std::string id;
    pbf_writer o(id);
    o.add_string(1, domain);
    o.add_int64(2, version);
    w.add_message(8, id);
  };
  opset("", p.opset);
  for (const auto &[domain, version] : p.domains)
    opset(domain, version);
  for (const std::string &f : p.functions)
    w.add_message(25, f);
  return out;
}

} // namespace onnxtest
