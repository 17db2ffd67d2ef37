// Tile kernels, lowered to instructions and run: moves through all levels on several cores.
#include "Conversion/TileToNpu/TileToNpu.h"
#include "Dialect/Tile/Tile.h"
#include "NpuProgram.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tensorturbo::codegen {
namespace {

// Four rows of a wider matrix are gathered into LLB; each core loads its row and a broadcast vector, computes
// row * vector + row, and stores it; the master copies the rows back.
const char *const kernel = R"(
tile.global @matrix {bytes = 1024 : i64, address = 0x2000000 : i64}
tile.global @vector {bytes = 64 : i64, address = 0x2001000 : i64}
tile.global @result {bytes = 256 : i64, address = 0x2002000 : i64}
func.func @npu_0_rows() {
  %id = tile.core_id
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %rows = arith.constant 4 : i32
  %columns = arith.constant 32 : i32
  %bytes = arith.constant 64 : i32
  %all = arith.constant 256 : i32
  %stride = arith.constant 200 : i32
  %matrix = tile.global_buffer @matrix : !tile.buffer<DDR>
  %vector = tile.global_buffer @vector : !tile.buffer<DDR>
  %result = tile.global_buffer @result : !tile.buffer<DDR>
  %staged = tile.alloc "staged" 256 : !tile.buffer<LLB>
  %staged_vector = tile.alloc "staged vector" 64 : !tile.buffer<LLB>
  %row = tile.alloc "row" 64 : !tile.buffer<L1>
  %weights = tile.alloc "weights" 64 : !tile.buffer<L1>
  %product = tile.alloc "product" 64 : !tile.buffer<IM>
  %p_matrix = tile.view %matrix[%c0] : !tile.buffer<DDR> -> !tile.ptr<DDR>
  %p_vector = tile.view %vector[%c0] : !tile.buffer<DDR> -> !tile.ptr<DDR>
  %p_result = tile.view %result[%c0] : !tile.buffer<DDR> -> !tile.ptr<DDR>
  %p_staged = tile.view %staged[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %p_staged_vector = tile.view %staged_vector[%c0] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  %master = arith.cmpi eq, %id, %c0 : i32
  scf.if %master {
    tile.dma %p_staged, %p_matrix rows %rows bytes %bytes stride %stride : !tile.ptr<LLB>, !tile.ptr<DDR>
    tile.dma %p_staged_vector, %p_vector rows %c1 bytes %bytes stride %c0 : !tile.ptr<LLB>, !tile.ptr<DDR>
  }
  tile.barrier
  %p_weights = tile.view %weights[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %p_row = tile.view %row[%c0] : !tile.buffer<L1> -> !tile.ptr<L1>
  %p_product = tile.view %product[%c0] : !tile.buffer<IM> -> !tile.ptr<IM>
  tile.broadcast %p_weights, %p_staged_vector rows %c1 columns %columns stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  %own = arith.muli %id, %bytes : i32
  %p_own = tile.view %staged[%own] : !tile.buffer<LLB> -> !tile.ptr<LLB>
  tile.load %p_row, %p_own rows %c1 columns %columns stride %c0 : !tile.ptr<L1>, !tile.ptr<LLB>
  tile.binary mul %p_product, %p_row, %p_weights size(%c1, %columns) strides(%c0, %c0, %c0)
    : !tile.ptr<IM>, !tile.ptr<L1>, !tile.ptr<L1>
  tile.binary add %p_row, %p_product, %p_row size(%c1, %columns) strides(%c0, %c0, %c0)
    : !tile.ptr<L1>, !tile.ptr<IM>, !tile.ptr<L1>
  tile.store %p_own, %p_row rows %c1 columns %columns stride %c0 : !tile.ptr<LLB>, !tile.ptr<L1>
  tile.barrier
  scf.if %master {
    tile.dma %p_result, %p_staged rows %c1 bytes %all stride %c0 : !tile.ptr<DDR>, !tile.ptr<LLB>
  }
  return
}
)";

std::optional<runtime::ObjectFile> compileTile(const char *text, int ncore, bool eliminate,
                                               Diagnostics &diags) {
  mlir::DialectRegistry registry;
  registry.insert<npu::NpuDialect, tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::scf::SCFDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return std::nullopt;
  mlir::PassManager passes(&context);
  passes.addPass(tile::createPlanMemoryPass());
  passes.addPass(tile::createTileToNpuPass(ncore));
  passes.addPass(mlir::createCanonicalizerPass());
  if (eliminate)
    passes.addNestedPass<mlir::func::FuncOp>(tile::createCsrwEliminationPass());
  if (failed(passes.run(*module)))
    return std::nullopt;
  return generateProgram(*module, {{"npu_0_rows"}}, diags);
}

TEST(TileProgram, RowsOnFourCores) {
  std::vector<uint16_t> matrix(400, 0x7E00), vector(32, 0x4000), expected;
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 32; ++column) {
      matrix[row * 100 + column] = uint16_t(0x3C00 + 0x400 * row); // 1, 2, 4, 8
      expected.push_back(uint16_t(0x4200 + 0x400 * row));          // three times that
    }
  uint64_t csrWrites[2];
  for (bool eliminate : {false, true}) {
    Diagnostics diags;
    auto object = compileTile(kernel, 4, eliminate, diags);
    ASSERT_TRUE(object) << diags.render();
    Chip chip(4);
    chip.load(*object);
    chip.write(0x2000000, matrix);
    chip.write(0x2001000, vector);
    sim::RunResult result = chip.run();
    ASSERT_TRUE(result.good()) << result.message;
    EXPECT_EQ(chip.read<uint16_t>(0x2002000, 128), expected);
    csrWrites[eliminate] = chip.machine.counters(1).csrWrites;
  }
  EXPECT_LT(csrWrites[true], csrWrites[false]);
}

} // namespace
} // namespace tensorturbo::codegen
