// Own TableGen back ends: from one row of the relay op table to constraint checks, inference glue, the
// attribute table of the text printer, and documentation. The class and parser code comes from mlir-tblgen.
#include "mlir/TableGen/Attribute.h"
#include "mlir/TableGen/GenInfo.h"
#include "mlir/TableGen/Operator.h"
#include "mlir/Tools/mlir-tblgen/MlirTblgenMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TableGen/Record.h"

using llvm::raw_ostream;
using llvm::Record;
using llvm::RecordKeeper;
using llvm::StringRef;
using mlir::tblgen::NamedAttribute;
using mlir::tblgen::Operator;

namespace {

std::string quoted(StringRef text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

/// "{1, 1}" of an ODS default becomes "[1, 1]" of Relay text; booleans become True and False.
std::string relayLiteral(StringRef value) {
  if (value == "true")
    return "True";
  if (value == "false")
    return "False";
  std::string out = value.str();
  for (char &c : out)
    c = c == '{' ? '[' : c == '}' ? ']' : c;
  return out;
}

/// Definitions of inferReturnTypes: attribute checks, the numbered constraints (every violation is reported),
/// then the shape rule.
bool genInfer(const RecordKeeper &records, raw_ostream &os) {
  for (const Record *r : records.getAllDerivedDefinitions("Relay_Op")) {
    StringRef rule = r->getValueAsString("shapeRule");
    Operator op(r);
    if (rule.empty())
      continue;
    std::string cls = op.getQualCppClassName();
    os << "llvm::LogicalResult " << StringRef(cls).drop_front(2)
       << "::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> location, "
          "::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties "
          "properties, "
          "::mlir::RegionRange regions, llvm::SmallVectorImpl<::mlir::Type> &inferred) {\n"
       << "  using namespace ::tensorturbo::relay::infer;\n"
       << "  InferContext c(context, location, " << quoted(op.getOperationName()) << ", inferred);\n";
    bool variadic = op.getNumVariableLengthOperands() > 0;
    os << "  if (!c.checkOperands(operands, " << (op.getNumOperands() - (variadic ? 1 : 0)) << ", "
       << (variadic ? "true" : "false") << "))\n    return ::mlir::failure();\n"
       << "  Adaptor op(operands, attributes, properties, regions);\n"
       << "  if (::mlir::failed(op.verify(c.loc)))\n    return ::mlir::failure();\n";
    if (StringRef prelude = r->getValueAsString("prelude"); !prelude.empty())
      os << "  " << prelude << "\n";
    for (const Record *k : r->getValueAsListOfDefs("constraints")) {
      os << "  if (!(" << k->getValueAsString("pred") << "))\n    c.fail(" << k->getValueAsInt("number")
         << ", " << quoted(k->getValueAsString("text")) << ")";
      bool first = true;
      for (StringRef v : k->getValueAsListOfStrings("values")) {
        os << " << " << (first ? "\", got \"" : "\" and \"") << " << " << v;
        first = false;
      }
      os << ";\n";
    }
    os << "  if (c.failed)\n    return ::mlir::failure();\n";
    os << "  return " << rule << ";\n}\n\n";
  }
  return false;
}

/// One table row for each op: Relay name and its attributes in Relay's order with defaults.
bool genTable(const RecordKeeper &records, raw_ostream &os) {
  for (const Record *r : records.getAllDerivedDefinitions("Relay_Op")) {
    Operator op(r);
    os << "{" << quoted(r->getValueAsString("opName")) << ", {";
    for (const NamedAttribute &a : op.getAttributes()) {
      StringRef def = a.attr.getDefaultValue();
      os << "{" << quoted(a.name) << ", "
         << quoted(a.attr.hasDefaultValue() ? relayLiteral(def) : std::string()) << ", "
         << (a.attr.hasDefaultValue() ? "true" : "false") << ", " << (a.attr.isOptional() ? "true" : "false")
         << "}, ";
    }
    os << "}},\n";
  }
  return false;
}

std::string markdown(StringRef text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '<')
      out += '\\';
    out += c;
  }
  return out;
}

/// Reference page: one section an operator.
bool genDoc(const RecordKeeper &records, raw_ostream &os) {
  for (const Record *r : records.getAllDerivedDefinitions("Relay_Op")) {
    Operator op(r);
    os << "### " << r->getValueAsString("opName") << "\n\n" << op.getSummary() << "\n\n";
    if (op.hasDescription())
      os << op.getDescription().trim() << "\n\n";
    os << "Inputs: ";
    bool first = true;
    for (const auto &v : op.getOperands()) {
      os << (first ? "" : ", ") << '`' << v.name << '`' << (v.isVariadic() ? " (any number)" : "");
      first = false;
    }
    os << (first ? "none" : "") << ". Results: ";
    first = true;
    for (const auto &v : op.getResults()) {
      os << (first ? "" : ", ") << '`' << v.name << '`' << (v.isVariadic() ? " (any number)" : "");
      first = false;
    }
    os << ".\n\n";
    if (op.getNumAttributes() > 0) {
      os << "| attribute | type | default |\n|---|---|---|\n";
      for (const NamedAttribute &a : op.getAttributes()) {
        os << "| `" << a.name << "` | " << markdown(a.attr.getBaseAttr().getSummary()) << " | ";
        if (a.attr.hasDefaultValue())
          os << '`' << relayLiteral(a.attr.getDefaultValue()) << '`';
        else
          os << (a.attr.isOptional() ? "None" : "required");
        os << " |\n";
      }
      os << "\n";
    }
    auto constraints = r->getValueAsListOfDefs("constraints");
    if (!constraints.empty()) {
      os << "Constraints:\n\n";
      for (const Record *k : constraints)
        os << "- C" << k->getValueAsInt("number") << ": " << markdown(k->getValueAsString("text")) << "\n";
      os << "\n";
    }
  }
  return false;
}

/// Rows of the table of operators: name, inputs, what it does.
bool genList(const RecordKeeper &records, raw_ostream &os) {
  for (const Record *r : records.getAllDerivedDefinitions("Relay_Op")) {
    Operator op(r);
    os << "| `" << r->getValueAsString("opName") << "` | " << markdown(op.getSummary()) << " | "
       << op.getNumAttributes() << " | " << r->getValueAsListOfDefs("constraints").size() << " |\n";
  }
  return false;
}

mlir::GenRegistration infer("gen-relay-infer", "constraint checks and type inference", genInfer);
mlir::GenRegistration table("gen-relay-table", "attribute table of the text printer", genTable);
mlir::GenRegistration doc("gen-relay-doc", "reference page", genDoc);
mlir::GenRegistration list("gen-relay-list", "rows of the operator table", genList);

} // namespace

int main(int argc, char **argv) {
  return mlir::MlirTblgenMain(argc, argv);
}
