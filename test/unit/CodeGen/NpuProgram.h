// Compiles npu text and runs it on the simulated cluster.
#pragma once
#include "CodeGen/CodeGen.h"
#include "Dialect/Npu/Npu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "simulator/Machine.h"
#include <gtest/gtest.h>

namespace tensorturbo::codegen {

class NpuText {
public:
  explicit NpuText(const std::string &text) {
    mlir::DialectRegistry registry;
    registry.insert<npu::NpuDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                    mlir::func::FuncDialect, mlir::scf::SCFDialect>();
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  }
  std::optional<runtime::ObjectFile> compile(const std::vector<KernelList> &segments) {
    return generateProgram(*module, segments, diags);
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Diagnostics diags;
};

class Chip {
public:
  explicit Chip(int cores) : machine(options(cores)) {}

  void load(const runtime::ObjectFile &object) {
    for (const runtime::Segment &segment : object.segments) {
      std::vector<uint8_t> bytes(segment.bytes.data(), segment.bytes.data() + segment.bytes.size());
      bytes.resize(segment.memorySize);
      ASSERT_TRUE(machine.writeMemory(0, segment.address, bytes.data(), bytes.size()));
    }
    entry = object.entry;
    ASSERT_TRUE(object.findSymbol("tohost"));
    tohost = object.findSymbol("tohost")->address;
    segmentWord = object.findSymbol("tt_segment")->address;
  }
  template <typename T> void write(uint32_t address, const std::vector<T> &values) {
    ASSERT_TRUE(machine.writeMemory(0, address, values.data(), values.size() * sizeof(T)));
  }
  template <typename T> std::vector<T> read(uint32_t address, size_t count, uint32_t core = 0) {
    std::vector<T> values(count);
    EXPECT_TRUE(machine.readMemory(core, address, values.data(), count * sizeof(T)));
    return values;
  }
  sim::RunResult run(uint32_t segment = 0) {
    write<uint32_t>(segmentWord, {segment});
    return machine.run(entry, tohost);
  }

  sim::Machine machine;

private:
  static sim::MachineOptions options(int cores) {
    sim::MachineOptions o;
    o.cores = cores;
    o.maxInstructions = 10'000'000;
    return o;
  }
  uint32_t entry = 0, tohost = 0, segmentWord = 0;
};

} // namespace tensorturbo::codegen
