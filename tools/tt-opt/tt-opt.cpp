// Developer tool: reads IR of any of our dialects, runs passes, prints IR. The verifier runs after every pass
// (--verify-each=false turns it off).
#include "Dialect/Relay/RelayDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, tensorturbo::relay::RelayDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "TensorTurbo developer tool\n", registry));
}
