#include "Dialect/Relay/RelayText.h"
#include "Dialect/Relay/Relay.h"
#include "Dialect/Relay/RelayMetadata.h"
#include "Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdlib>

namespace tensorturbo::relay {
namespace {

using mlir::Operation;
using mlir::Value;

/// The shortest decimal that reads back as `value` (as a float if `single`).
std::string decimal(double value, bool single) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (single ? std::strtof(text, nullptr) == static_cast<float>(value)
               : std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

std::string typeText(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  auto dtype = dtypeOf(tensor.getElementType());
  std::string name = dtype ? dtypeName(*dtype) : "?";
  // A bare bfloat16 is not a type in the text format.
  if (tensor.getRank() == 0 && dtype != DType::BFloat16)
    return name;
  std::string out;
  llvm::raw_string_ostream os(out);
  os << "Tensor[(";
  llvm::interleaveComma(tensor.getShape(), os);
  os << "), " << name << "]";
  return out;
}

std::string typesText(mlir::TypeRange types) {
  if (types.size() == 1)
    return typeText(types.front());
  std::string out = "(";
  for (auto [i, t] : llvm::enumerate(types))
    out += (i ? ", " : "") + typeText(t);
  return out + ")";
}

/// Keys that Relay requires though their value may be None.
bool isRequired(llvm::StringRef op, llvm::StringRef key) {
  return ((op == "nn.dense" || op == "nn.matmul") && key == "units") ||
         (op == "transpose" && key == "axes") ||
         (op == "strided_slice" && (key == "axes" || key == "strides")) || (op == "topk" && key == "k");
}

/// Attribute structs that the op itself does not register and the text must name.
llvm::StringRef attrsTypeKey(llvm::StringRef op) {
  if (op == "cumsum" || op == "cumprod")
    return "relay.attrs.ScanopAttrs";
  if (op == "scatter_elements")
    return "relay.attrs.ScatterElementsAttrs";
  if (op == "scatter_nd")
    return "relay.attrs.ScatterNDAttrs";
  if (op == "trilu")
    return "relay.attrs.TriluAttrs";
  return {};
}

std::string attributeText(mlir::Attribute attribute, bool pairs) {
  std::string out;
  llvm::raw_string_ostream os(out);
  auto list = [&](auto values, auto print) {
    os << '[';
    llvm::interleaveComma(values, os, print);
    os << ']';
  };
  if (auto b = llvm::dyn_cast<mlir::BoolAttr>(attribute)) {
    os << (b.getValue() ? "True" : "False");
  } else if (auto i = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    os << i.getInt();
  } else if (auto f = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    os << decimal(f.getValueAsDouble(), false) << 'f';
  } else if (auto s = llvm::dyn_cast<mlir::StringAttr>(attribute)) {
    os << '"' << s.getValue() << '"';
  } else if (auto floats = llvm::dyn_cast<mlir::DenseF64ArrayAttr>(attribute)) {
    list(floats.asArrayRef(), [&](double v) { os << decimal(v, false) << 'f'; });
  } else if (auto ints = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
    if (!pairs) {
      list(ints.asArrayRef(), [&](int64_t v) { os << v; });
    } else {
      llvm::SmallVector<size_t> starts;
      for (size_t k = 0; k < static_cast<size_t>(ints.size()); k += 2)
        starts.push_back(k);
      list(starts, [&](size_t k) { os << '[' << ints[k] << ", " << ints[k + 1] << ']'; });
    }
  }
  return out;
}

/// Relay's identifiers: letters, digits, '_' and '/'.
std::string identifier(llvm::StringRef name) {
  std::string out;
  for (char c : name)
    out += llvm::isAlnum(c) || c == '_' || c == '/' ? c : '_';
  if (out.empty() || llvm::isDigit(out[0]) || out[0] == '/')
    out = "v" + out;
  static const char *const keywords[] = {"let",      "fn",        "def",    "if",       "else",
                                         "type",     "match",     "extern", "free_var", "ref",
                                         "ref_read", "ref_write", "True",   "False"};
  if (llvm::is_contained(keywords, out))
    out += "_";
  return out;
}

class Printer {
public:
  explicit Printer(mlir::ModuleOp module) : module(module) {}

  std::string print(const RelayTextOptions &options) {
    std::vector<mlir::func::FuncOp> functions;
    for (auto func : module.getOps<mlir::func::FuncOp>())
      if (!func.isExternal())
        functions.push_back(func);
    llvm::sort(functions,
               [](mlir::func::FuncOp a, mlir::func::FuncOp b) { return a.getName() < b.getName(); });
    // Names are unique over the whole module; @main's parameters come first to keep theirs.
    for (auto func : functions)
      if (func.getName() == "main")
        nameArguments(func);
    for (auto func : functions)
      if (func.getName() != "main")
        nameArguments(func);
    os << "#[version = \"0.0.5\"]\n";
    for (auto [i, func] : llvm::enumerate(functions)) {
      os << (i ? "\n" : "");
      printFunction(func);
    }
    if (metadata.empty())
      return text;
    if (metadata.bytes() <= options.metadataLimit)
      metadata.print(os);
    else
      os << "\n// " << metadata.size() << " constants (" << metadata.bytes()
         << " bytes) are not part of this text: the metadata section has been left out.\n";
    return text;
  }

private:
  void nameArguments(mlir::func::FuncOp func) {
    for (auto [i, arg] : llvm::enumerate(func.getArguments())) {
      auto given = func.getArgAttrOfType<mlir::StringAttr>(i, "relay.name");
      std::string base = identifier(given ? given.getValue() : ("p" + llvm::Twine(i)).str()), name = base;
      for (int n = 1; !used.insert(name).second; ++n)
        name = base + std::to_string(n);
      names[arg] = "%" + name;
    }
  }

  void printFunction(mlir::func::FuncOp func) {
    os << "def @" << identifier(func.getName()) << "(";
    bool first = true;
    for (Value arg : func.getArguments()) {
      std::string type = typeText(arg.getType());
      os << (first ? "" : ", ") << names[arg] << ": " << type << " /* ty=" << type << " */";
      first = false;
    }
    if (func->hasAttr("relay.primitive"))
      os << (first ? "" : ", ") << "Primitive=1";
    os << ") -> " << typesText(func.getResultTypes()) << " {\n";
    mlir::Block &body = func.getBody().front();
    Operation *end = body.getTerminator();
    // The tail needs no number if it is what the function returns, and all of it.
    Operation *tail = nullptr;
    if (end->getNumOperands() == 1)
      if (Operation *def = end->getOperand(0).getDefiningOp())
        if (!llvm::isa<ConstantOp>(def) && def->getNextNode() == end && def->getNumResults() == 1 &&
            def->getResult(0).hasOneUse())
          tail = def;
    for (Operation &op : body.without_terminator())
      printOperation(&op, &op == tail);
    if (!tail) {
      os << "  ";
      if (end->getNumOperands() == 1)
        os << operand(end->getOperand(0));
      else
        os << tuple(end->getOperands());
      os << "\n";
    }
    os << "}\n";
  }

  void printOperation(Operation *op, bool isTail) {
    if (llvm::isa<ConstantOp>(op))
      return;
    std::string call;
    if (auto callee = llvm::dyn_cast<mlir::func::CallOp>(op)) {
      call = "@" + identifier(callee.getCallee()) + arguments(op->getOperands(), {});
    } else {
      bool takesTuple = llvm::isa<ConcatenateOp, StackOp>(op);
      std::string attributes = attributesText(op);
      if (takesTuple) {
        os << "  %" << next << " = " << tuple(op->getOperands())
           << " /* ty=" << typesInTuple(op->getOperandTypes()) << " */;\n";
        call = op->getName().stripDialect().str() + "(%" + std::to_string(next++) +
               (attributes.empty() ? "" : ", " + attributes) + ")";
      } else {
        call = op->getName().stripDialect().str() + arguments(op->getOperands(), attributes);
      }
    }
    os << "  ";
    if (!isTail) {
      bool isTuple = op->getNumResults() != 1 || llvm::isa<SplitOp>(op);
      std::string name = "%" + std::to_string(next++);
      for (mlir::OpResult r : op->getResults())
        names[r] = isTuple ? name + "." + std::to_string(r.getResultNumber()) : name;
      os << name << " = ";
    }
    std::string types =
        llvm::isa<SplitOp>(op) ? typesInTuple(op->getResultTypes()) : typesText(op->getResultTypes());
    os << call << " /* ty=" << types << span(op) << " */" << (isTail ? "\n" : ";\n");
  }

  static std::string span(Operation *op) {
    std::string name = nodeName(op->getLoc());
    // Nothing that ends the comment or the line.
    for (char &c : name)
      if (c == '*' || static_cast<unsigned char>(c) < 32)
        c = '_';
    return name.empty() ? "" : " span=" + name + ":0:0";
  }

  static std::string typesInTuple(mlir::TypeRange types) {
    return types.size() == 1 ? "(" + typeText(types.front()) + ",)" : typesText(types);
  }

  std::string tuple(mlir::ValueRange values) {
    std::string out = "(";
    for (auto [i, v] : llvm::enumerate(values))
      out += (i ? ", " : "") + operand(v);
    return out + (values.size() == 1 ? ",)" : ")");
  }

  std::string arguments(mlir::ValueRange values, llvm::StringRef attributes) {
    std::string out = "(";
    for (auto [i, v] : llvm::enumerate(values))
      out += (i ? ", " : "") + operand(v);
    if (!attributes.empty())
      out += (values.empty() ? "" : ", ") + attributes.str();
    return out + ")";
  }

  std::string attributesText(Operation *op) {
    llvm::StringRef name = op->getName().stripDialect();
    const OpRow *row = opRow(name);
    std::string out;
    auto add = [&](llvm::StringRef key, llvm::StringRef value) {
      out += (out.empty() ? "" : ", ") + key.str() + "=" + value.str();
    };
    if (!row)
      return out;
    for (const AttributeRow &attribute : row->attributes) {
      mlir::Attribute value = op->getAttr(attribute.name);
      if (!value) {
        if (isRequired(name, attribute.name))
          add(attribute.name, "None");
        else if (attribute.name == "roi")
          add("roi", roiText(op));
        continue;
      }
      std::string text = attributeText(value, attribute.name == "pad_width");
      if (!attribute.hasDefault || text != defaultText(value, attribute))
        add(attribute.name, text);
    }
    if (llvm::StringRef key = attrsTypeKey(name); !key.empty() && !out.empty())
      add("attrs_type_key", ("\"" + key + "\"").str());
    return out;
  }

  /// The default as attributeText spells the same value.
  static std::string defaultText(mlir::Attribute value, const AttributeRow &attribute) {
    if (llvm::isa<mlir::FloatAttr>(value))
      return decimal(std::strtod(attribute.defaultText.str().c_str(), nullptr), false) + "f";
    return attribute.defaultText.str();
  }

  /// The type relation of resize needs a region of interest though it is not used.
  static std::string roiText(Operation *op) {
    std::string out = "[";
    for (size_t i = 0, n = 2 * (shapeOf(op->getOperand(0)).size() - 2); i < n; ++i)
      out += i ? ", 0f" : "0f";
    return out + "]";
  }

  std::string operand(Value v) {
    auto constant = v.getDefiningOp<ConstantOp>();
    if (!constant)
      return names.lookup(v);
    std::string type = " /* ty=" + typeText(v.getType()) + " */";
    auto scalar = shapeOf(v).empty() ? scalarOf(v) : std::nullopt;
    if (scalar) {
      auto integer = [&](llvm::StringRef suffix) {
        return std::to_string(static_cast<int64_t>(*scalar)) + suffix.str() + type;
      };
      bool exact = std::fabs(*scalar) < 0x1p53;
      DType dtype = *dtypeOf(elementType(v));
      if (dtype == DType::Float32)
        return decimal(*scalar, true) + "f" + type;
      if (dtype == DType::Float64 && std::isfinite(*scalar))
        return decimal(*scalar, false) + "f64" + type;
      if (dtype == DType::Float16 && std::isfinite(*scalar))
        return decimal(*scalar, true) + "f16" + type;
      if (dtype == DType::Bool)
        return (*scalar ? "True" : "False") + type;
      if (dtype == DType::Int16)
        return integer("i16");
      if (dtype == DType::Int32)
        return integer("");
      if (dtype == DType::Int64 && exact)
        return integer("i64");
    }
    auto [known, isNew] = constants.try_emplace(constant.getValueAttr(), metadata.size());
    if (isNew)
      metadata.add(llvm::cast<mlir::RankedTensorType>(v.getType()), constantOf(v));
    return "meta[relay.Constant][" + std::to_string(known->second) + "]" + type;
  }

  mlir::ModuleOp module;
  std::string text;
  llvm::raw_string_ostream os{text};
  llvm::DenseMap<Value, std::string> names;
  llvm::StringSet<> used;
  llvm::DenseMap<mlir::Attribute, size_t> constants;
  RelayMetadata metadata;
  /// Numbers run through the whole module.
  int next = 0;
};

} // namespace

std::string printRelayText(mlir::ModuleOp module, const RelayTextOptions &options) {
  return Printer(module).print(options);
}

} // namespace tensorturbo::relay
