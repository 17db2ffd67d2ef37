// ONNX model files to a relay module.
#pragma once
#include "Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <string>
#include <vector>

namespace tensorturbo::onnx {

/// Imports the model at `path`: a module with `func.func @main`, whose arguments and results carry the
/// model's names as `relay.name`. Every op has its ONNX node's name as location, with
/// the node's operator as metadata; the module's attribute `relay.source_nodes` lists name and operator of
/// every node in turn. Weights become views of the mapped file in the constant store of the relay dialect of
/// `context`.
///
/// `shapes` gives the shape of inputs by name. It completes what the model leaves open and overrides what it
/// says; extents of one symbolic name must agree in all inputs. Shape arithmetic is evaluated, so another
/// shape (a new batch size) means importing again.
///
/// Null after errors; all that can be found at once are reported: operators that are not supported with their
/// nodes in one message (and then nothing else), inputs without a shape in one message, else every faulty
/// node.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(const std::string &path,
                                             const std::map<std::string, std::vector<int64_t>> &shapes,
                                             mlir::MLIRContext &context, Diagnostics &diags);

/// One row of the table of operators, for documentation.
struct SupportedOp {
  std::string domain;
  std::string name;
};
std::vector<SupportedOp> supportedOps();

} // namespace tensorturbo::onnx
