// ONNX's protobuf messages to structs. Recursion is only as deep as maxGraphDepth, memory is bounded by
// maxObjects and the file's size, and every length is checked by the cursor.
#include "Import/onnx/ReaderDetail.h"
#include "Import/onnx/Wire.h"
#include "llvm/Support/ConvertUTF.h"

using namespace tensorturbo;
using namespace tensorturbo::onnx;

namespace {

struct SparseTensor {
  Tensor values, indices;
  std::vector<int64_t> dims;
};

class Reader {
public:
  explicit Reader(Model &model) : model(model) {}

  void readModelMessage(std::string_view message);
  bool hasGraph = false;
  /// Every tensor read, with where to put the dense form of the sparse ones.
  std::vector<std::shared_ptr<SparseTensor>> sparse;
  std::vector<Graph *> sparseGraphs;

private:
  void count(size_t n = 1) {
    if ((objects += n) > maxObjects)
      throw WireError{"the model has more than " + std::to_string(maxObjects) + " parts"};
  }
  std::string_view text(Wire &w, const char *what) {
    std::string_view s = w.readBytes();
    auto *begin = reinterpret_cast<const llvm::UTF8 *>(s.data());
    if (!s.empty() && !llvm::isLegalUTF8String(&begin, begin + s.size()))
      throw WireError{std::string(what) + " " + quoteForMessage(s) + " is not valid UTF-8"};
    if (s.find('\0') != std::string_view::npos)
      throw WireError{std::string(what) + " " + quoteForMessage(s) + " contains a NUL character"};
    return s;
  }
  void ints(Wire &w, std::vector<int64_t> &out) {
    size_t before = out.size();
    w.readInts(out);
    count(out.size() - before);
  }

  void readOpset(std::string_view message, OpsetMap &opsets);
  void readPair(std::string_view message);
  void readGraph(std::string_view message, Graph &graph, int depth);
  void readNode(std::string_view message, Node &node, int depth);
  void readAttribute(std::string_view message, Attribute &attribute, int depth);
  void readTensor(std::string_view message, Tensor &tensor);
  void readSparse(std::string_view message, SparseTensor &tensor);
  void readValueInfo(std::string_view message, ValueInfo &info);
  void readType(std::string_view message, ValueInfo &info);
  void readShape(std::string_view message, ValueInfo &info);
  void readFunction(std::string_view message, Function &function);

  Model &model;
  size_t objects = 0;
};

void Reader::readModelMessage(std::string_view message) {
  for (Wire w(message); w.next();) {
    switch (w.field()) {
    case 1:
      model.irVersion = w.readInt();
      break;
    case 2:
      model.producer = text(w, "the producer's name");
      break;
    case 7:
      hasGraph = true;
      readGraph(w.readBytes(), model.graph, 0);
      break;
    case 8:
      readOpset(w.readBytes(), model.opsets);
      break;
    case 14:
      readPair(w.readBytes());
      break;
    case 25:
      count();
      model.functions.emplace_back();
      readFunction(w.readBytes(), model.functions.back());
      break;
    default:
      w.skip();
    }
  }
}

/// "ai.onnx" is another spelling of the default domain.
std::string_view normalised(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

void Reader::readOpset(std::string_view message, OpsetMap &opsets) {
  std::string_view domain;
  int64_t version = 0;
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      domain = normalised(text(w, "the domain"));
    else if (w.field() == 2)
      version = w.readInt();
    else
      w.skip();
  }
  count();
  auto [it, added] = opsets.emplace(domain, version);
  if (!added && it->second != version)
    throw WireError{"domain " + quoteForMessage(domain) + " is imported in versions " +
                    std::to_string(it->second) + " and " + std::to_string(version)};
}

void Reader::readPair(std::string_view message) {
  std::string_view key, value;
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      key = w.readBytes();
    else if (w.field() == 2)
      value = w.readBytes();
    else
      w.skip();
  }
  count();
  model.metadata[key] = value;
}

void Reader::readGraph(std::string_view message, Graph &graph, int depth) {
  if (depth > maxGraphDepth)
    throw WireError{"sub-graphs are nested more than " + std::to_string(maxGraphDepth) + " deep"};
  for (Wire w(message); w.next();) {
    switch (w.field()) {
    case 1:
      count();
      graph.nodes.emplace_back();
      readNode(w.readBytes(), graph.nodes.back(), depth);
      break;
    case 2:
      graph.name = text(w, "the graph's name");
      break;
    case 5:
      count();
      graph.initializers.emplace_back();
      readTensor(w.readBytes(), graph.initializers.back());
      break;
    case 15:
      count();
      sparse.push_back(std::make_shared<SparseTensor>());
      sparseGraphs.push_back(&graph);
      readSparse(w.readBytes(), *sparse.back());
      break;
    case 11:
      count();
      graph.inputs.emplace_back();
      readValueInfo(w.readBytes(), graph.inputs.back());
      break;
    case 12:
      count();
      graph.outputs.emplace_back();
      readValueInfo(w.readBytes(), graph.outputs.back());
      break;
    default:
      w.skip();
    }
  }
}

void Reader::readNode(std::string_view message, Node &node, int depth) {
  for (Wire w(message); w.next();) {
    switch (w.field()) {
    case 1:
      count();
      node.inputs.push_back(text(w, "the input name"));
      break;
    case 2:
      count();
      node.outputs.push_back(text(w, "the output name"));
      break;
    case 3:
      node.name = text(w, "the node name");
      break;
    case 4:
      node.opType = text(w, "the operator name");
      break;
    case 5:
      count();
      node.attributes.emplace_back();
      readAttribute(w.readBytes(), node.attributes.back(), depth);
      break;
    case 7:
      node.domain = normalised(text(w, "the domain"));
      break;
    case 8:
      node.overload = text(w, "the overload");
      break;
    default:
      w.skip();
    }
  }
}

void Reader::readAttribute(std::string_view message, Attribute &a, int depth) {
  // Old files may leave the type out; then the field that is there tells it.
  AttributeType seen = AttributeType::Undefined;
  auto saw = [&](AttributeType type) { seen = type; };
  for (Wire w(message); w.next();) {
    switch (w.field()) {
    case 1:
      a.name = text(w, "the attribute name");
      break;
    case 21:
      a.reference = text(w, "the attribute reference");
      break;
    case 20:
      a.type = static_cast<AttributeType>(w.readInt());
      break;
    case 2:
      a.f = w.readFloat();
      saw(AttributeType::Float);
      break;
    case 3:
      a.i = w.readInt();
      saw(AttributeType::Int);
      break;
    case 4:
      a.s = w.readBytes();
      saw(AttributeType::String);
      break;
    case 5:
      if (!a.tensor)
        a.tensor = std::make_shared<Tensor>();
      readTensor(w.readBytes(), *a.tensor);
      saw(AttributeType::Tensor);
      break;
    case 6:
      if (!a.graph)
        a.graph = std::make_shared<Graph>();
      readGraph(w.readBytes(), *a.graph, depth + 1);
      saw(AttributeType::Graph);
      break;
    case 7: {
      size_t before = a.floats.size();
      w.readFloats(a.floats);
      count(a.floats.size() - before);
      saw(AttributeType::Floats);
      break;
    }
    case 8:
      ints(w, a.ints);
      saw(AttributeType::Ints);
      break;
    case 9:
      count();
      a.strings.push_back(w.readBytes());
      saw(AttributeType::Strings);
      break;
    default:
      w.skip();
    }
  }
  if (a.type == AttributeType::Undefined)
    a.type = seen;
  else if (seen != AttributeType::Undefined && seen != a.type && a.reference.empty())
    throw WireError{"attribute " + quoteForMessage(a.name) + " says it is " + attributeTypeName(a.type) +
                    " but holds " + attributeTypeName(seen)};
  if ((a.type == AttributeType::Tensor && !a.tensor && a.reference.empty()) ||
      (a.type == AttributeType::Graph && !a.graph && a.reference.empty()))
    throw WireError{"attribute " + quoteForMessage(a.name) + " is empty"};
}

void Reader::readTensor(std::string_view message, Tensor &tensor) {
  tensor.messages.push_back(message);
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      ints(w, tensor.dims);
    else if (w.field() == 2)
      tensor.dataType = w.readInt();
    else if (w.field() == 8)
      tensor.name = text(w, "the tensor name");
    else
      w.skip();
  }
}

void Reader::readSparse(std::string_view message, SparseTensor &tensor) {
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      readTensor(w.readBytes(), tensor.values);
    else if (w.field() == 2)
      readTensor(w.readBytes(), tensor.indices);
    else if (w.field() == 3)
      ints(w, tensor.dims);
    else
      w.skip();
  }
}

void Reader::readValueInfo(std::string_view message, ValueInfo &info) {
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      info.name = text(w, "the value name");
    else if (w.field() == 2)
      readType(w.readBytes(), info);
    else
      w.skip();
  }
}

void Reader::readType(std::string_view message, ValueInfo &info) {
  for (Wire w(message); w.next();) {
    // 1 tensor, 4 sequence, 5 map, 7 opaque, 8 sparse tensor, 9 optional; others are annotations.
    if (w.field() == 1) {
      info.kind = ValueInfo::Kind::Tensor;
      for (Wire t(w.readBytes()); t.next();) {
        if (t.field() == 1)
          info.elementType = t.readInt();
        else if (t.field() == 2)
          readShape(t.readBytes(), info);
        else
          t.skip();
      }
    } else {
      if (w.field() >= 4 && w.field() <= 9 && w.field() != 6)
        info.kind = ValueInfo::Kind::Other;
      w.skip();
    }
  }
}

void Reader::readShape(std::string_view message, ValueInfo &info) {
  info.hasShape = true;
  for (Wire w(message); w.next();) {
    if (w.field() != 1) {
      w.skip();
      continue;
    }
    Dim dim;
    for (Wire d(w.readBytes()); d.next();) {
      if (d.field() == 1)
        dim.value = d.readInt();
      else if (d.field() == 2)
        dim.symbol = text(d, "the dimension name");
      else
        d.skip();
    }
    count();
    info.dims.push_back(dim);
  }
}

void Reader::readFunction(std::string_view message, Function &function) {
  for (Wire w(message); w.next();) {
    switch (w.field()) {
    case 1:
      function.name = text(w, "the function name");
      break;
    case 4:
      count();
      function.inputs.push_back(text(w, "the function's input"));
      break;
    case 5:
      count();
      function.outputs.push_back(text(w, "the function's output"));
      break;
    case 6:
      count();
      function.attributeNames.push_back(text(w, "the function's attribute"));
      break;
    case 7:
      count();
      function.nodes.emplace_back();
      readNode(w.readBytes(), function.nodes.back(), 0);
      break;
    case 9:
      readOpset(w.readBytes(), function.opsets);
      break;
    case 10:
      function.domain = normalised(text(w, "the domain"));
      break;
    case 11:
      count();
      function.defaults.emplace_back();
      readAttribute(w.readBytes(), function.defaults.back(), 0);
      break;
    case 13:
      function.overload = text(w, "the overload");
      break;
    default:
      w.skip();
    }
  }
}

/// What a file that cannot be ONNX is instead, or "".
std::string foreignFormat(std::string_view bytes) {
  auto starts = [&](std::string_view prefix) { return bytes.substr(0, prefix.size()) == prefix; };
  if (bytes.empty())
    return "the file is empty";
  if (starts("version https://git-lfs"))
    return "the file is a Git LFS pointer, not the model: fetch the model with 'git lfs pull'";
  if (starts("PK\x03\x04"))
    return "the file is a ZIP archive (a PyTorch or Keras model?), not an ONNX model";
  if (starts("\x89HDF"))
    return "the file is in HDF5 format (a Keras model?), not an ONNX model";
  if (bytes.size() > 8 && bytes.substr(4, 4) == "ORTM")
    return "the file is in ONNX Runtime's own format; save the model as .onnx";
  if (bytes.size() > 8 && bytes.substr(4, 4) == "TFL3")
    return "the file is a TensorFlow Lite model, not an ONNX model";
  std::string_view head = bytes.substr(0, 256);
  bool printable = true, blank = true;
  for (unsigned char c : head) {
    printable &= (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t';
    blank &= c == 0;
  }
  if (blank)
    return "the file begins with zeros only; it is damaged";
  if (printable && head.size() >= 16)
    return "the file holds text (" + quoteForMessage(head, 40) + "), not an ONNX model";
  return {};
}

bool resolveNodes(std::vector<Node> &nodes, TensorReader &tensors);

bool resolveGraph(Graph &graph, TensorReader &tensors) {
  bool ok = true;
  for (Tensor &t : graph.initializers)
    ok &= tensors.resolve(t);
  return resolveNodes(graph.nodes, tensors) && ok;
}

bool resolveNodes(std::vector<Node> &nodes, TensorReader &tensors) {
  bool ok = true;
  for (Node &node : nodes)
    for (Attribute &a : node.attributes) {
      if (a.tensor)
        ok &= tensors.resolve(*a.tensor);
      if (a.graph)
        ok &= resolveGraph(*a.graph, tensors);
    }
  return ok;
}

} // namespace

std::unique_ptr<Model> onnx::readModel(const std::string &path, Diagnostics &diags) {
  auto model = std::make_unique<Model>();
  model->file = MappedFile::open(path, diags);
  if (!model->file)
    return nullptr;
  std::string_view bytes = model->file->view();
  std::string where = quoteForMessage(path, 400) + " is not a valid ONNX model: ";
  auto fail = [&](const std::string &message) {
    diags.userError(where + message);
    return nullptr;
  };
  if (std::string message = foreignFormat(bytes); !message.empty())
    return fail(message);

  Reader reader(*model);
  try {
    reader.readModelMessage(bytes);
  } catch (const WireError &e) {
    return fail(e.message);
  } catch (const protozero::end_of_buffer_exception &) {
    return fail("a field reaches past the end; the file is truncated or damaged");
  } catch (const protozero::exception &e) {
    return fail(std::string(e.what()) + "; the file is damaged");
  } catch (const std::bad_alloc &) {
    return fail("it needs more memory than there is");
  }
  if (!reader.hasGraph)
    return fail("it has no graph");

  TensorReader tensors(model->file, diags);
  bool ok = resolveGraph(model->graph, tensors);
  for (Function &f : model->functions)
    ok &= resolveNodes(f.nodes, tensors);
  for (size_t i = 0; i < reader.sparse.size(); ++i) {
    SparseTensor &s = *reader.sparse[i];
    Tensor dense;
    if (tensors.resolve(s.values) && tensors.resolve(s.indices) &&
        tensors.resolveSparse(s.values, s.indices, s.dims, dense))
      reader.sparseGraphs[i]->initializers.push_back(std::move(dense));
    else
      ok = false;
  }
  return ok ? std::move(model) : nullptr;
}
