// Developer tool: reads IR of any of our dialects, runs passes, prints IR. The verifier runs after every pass
// (--verify-each=false turns it off).
#ifdef HAVE_TTTILETONPU
#include "Conversion/TileToNpu/TileToNpu.h"
#endif
#ifdef HAVE_TTNPU
#include "Dialect/Npu/Npu.h"
#endif
#include "Dialect/Relay/RelayDialect.h"
#ifdef HAVE_TTTILE
#include "Dialect/Tile/Tile.h"
#endif
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#ifdef HAVE_TTTRANSFORMS
#include "Transforms/Passes.h"
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect,
                  tensorturbo::relay::RelayDialect>();
#ifdef HAVE_TTTILE
  registry.insert<tensorturbo::tile::TileDialect>();
#endif
#ifdef HAVE_TTNPU
  registry.insert<tensorturbo::npu::NpuDialect>();
#endif
#ifdef HAVE_TTTILETONPU
  tensorturbo::tile::registerTileToNpuPasses();
#endif
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
#ifdef HAVE_TTTRANSFORMS
  tensorturbo::relay::registerPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "TensorTurbo developer tool\n", registry));
}
