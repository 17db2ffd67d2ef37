// The npu dialect: the instructions of the chip, one op each.
#ifndef TENSORTURBO_NPU_BASE
#define TENSORTURBO_NPU_BASE

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Npu_Dialect : Dialect {
  let name = "npu";
  let cppNamespace = "::tensorturbo::npu";
  let summary = "the custom instructions of the STCP920, its CSRs and memory-mapped registers";
  let description = [{
    One op per instruction; the op's name is the mnemonic. Operands are byte addresses as `i32` in the order
    destination, first source, second source; scalars of `.mf` forms are `f32`. Shapes and strides are CSR state,
    written by `npu.csrw`. Kernels are `func.func` without arguments, run by every core; `scf`, `cf` and `arith`
    on `i32` do the scalar work.

    Every op that touches memory, a CSR or another core reads and writes "memory", so that generic clean-ups
    neither remove nor reorder it.
  }];
}

def Npu_Instruction : OpInterface<"Instruction"> {
  let description = "An instruction of the custom opcodes: has a row in the chip's instruction table.";
  let cppNamespace = "::tensorturbo::npu";
  let methods = [
    InterfaceMethod<"name of the row in the chip's instruction table", "::llvm::StringRef", "instructionName">,
    InterfaceMethod<"value of the encoding's dm bit", "bool", "dmBit", (ins), "", [{ return $_op->hasAttr("dm"); }]>,
    InterfaceMethod<"value of the encoding's dmc bit", "bool", "dmcBit", (ins), "", [{ return false; }]>
  ];
  let verify = [{ return ::tensorturbo::npu::detail::verifyInstruction($_op); }];
}

class Npu_Op<string mnemonic, list<Trait> traits = []> : Op<Npu_Dialect, mnemonic, traits> {
  let skipDefaultBuilders = 1;
}

// `row` is the name in the chip's table, different from the op's only for reductions to a scalar.
class Npu_Insn<string mnemonic, string row = mnemonic>
    : Npu_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<Npu_Instruction>]> {
  string instructionRow = row;
  string dmc = "";
  let extraClassDeclaration = "";
  let extraClassDefinition = "::llvm::StringRef $cppClass::instructionName() { return \"" # row # "\"; }\n";
}

#endif
