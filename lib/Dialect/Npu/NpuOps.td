// Instructions by form. In comments: d, s1, s2 = addresses of destination and sources.
#ifndef TENSORTURBO_NPU_OPS
#define TENSORTURBO_NPU_OPS

include "NpuBase.td"

//===-- forms --------------------------------------------------------------------------------------------===//

defvar setDm = "if (dm) $_state.getOrAddProperties<Properties>().dm = $_builder.getUnitAttr();";

class Npu_RdRs1Rs2<string mnemonic> : Npu_Insn<mnemonic> {
  let arguments = (ins I32:$rd, I32:$rs1, I32:$rs2);
  let assemblyFormat = "$rd `,` $rs1 `,` $rs2 attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rd, "::mlir::Value":$rs1, "::mlir::Value":$rs2),
    "$_state.addOperands({rd, rs1, rs2});">];
}
class Npu_RdRs1Rs2Dm<string mnemonic> : Npu_Insn<mnemonic> {
  let arguments = (ins I32:$rd, I32:$rs1, I32:$rs2, UnitAttr:$dm);
  let assemblyFormat = "$rd `,` $rs1 `,` $rs2 (`dm` $dm^)? attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rd, "::mlir::Value":$rs1, "::mlir::Value":$rs2, CArg<"bool", "false">:$dm),
    !strconcat("$_state.addOperands({rd, rs1, rs2}); ", setDm)>];
}
class Npu_RdRs1Fs2<string mnemonic> : Npu_Insn<mnemonic> {
  let arguments = (ins I32:$rd, I32:$rs1, F32:$fs2);
  let assemblyFormat = "$rd `,` $rs1 `,` $fs2 attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rd, "::mlir::Value":$rs1, "::mlir::Value":$fs2),
    "$_state.addOperands({rd, rs1, fs2});">];
}
class Npu_RdRs1Fs2Dm<string mnemonic> : Npu_Insn<mnemonic> {
  let arguments = (ins I32:$rd, I32:$rs1, F32:$fs2, UnitAttr:$dm);
  let assemblyFormat = "$rd `,` $rs1 `,` $fs2 (`dm` $dm^)? attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rd, "::mlir::Value":$rs1, "::mlir::Value":$fs2, CArg<"bool", "false">:$dm),
    !strconcat("$_state.addOperands({rd, rs1, fs2}); ", setDm)>];
}
class Npu_RdRs1<string mnemonic> : Npu_Insn<mnemonic> {
  let arguments = (ins I32:$rd, I32:$rs1);
  let assemblyFormat = "$rd `,` $rs1 attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rd, "::mlir::Value":$rs1), "$_state.addOperands({rd, rs1});">];
}
class Npu_RdRs1Dm<string mnemonic> : Npu_Insn<mnemonic> {
  let arguments = (ins I32:$rd, I32:$rs1, UnitAttr:$dm);
  let assemblyFormat = "$rd `,` $rs1 (`dm` $dm^)? attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rd, "::mlir::Value":$rs1, CArg<"bool", "false">:$dm),
    !strconcat("$_state.addOperands({rd, rs1}); ", setDm)>];
}

//===-- vector engine, element-wise ----------------------------------------------------------------------===//

class Npu_MM<string base, string text> : Npu_RdRs1Rs2<base # ".mm"> { let summary = text # ", two matrices"; }
class Npu_MV<string base, string text> : Npu_RdRs1Rs2Dm<base # ".mv"> {
  let summary = text # ", matrix and vector: one element per column, with dm one per row";
}
class Npu_MF<string base, string text> : Npu_RdRs1Fs2<base # ".mf"> { let summary = text # ", matrix and scalar"; }

def Npu_VeaddMMOp : Npu_MM<"veadd", "s1 + s2">;
def Npu_VeaddMVOp : Npu_MV<"veadd", "s1 + s2">;
def Npu_VeaddMFOp : Npu_MF<"veadd", "s1 + s2">;
def Npu_VesubMMOp : Npu_MM<"vesub", "s1 - s2">;
def Npu_VesubMVOp : Npu_MV<"vesub", "s1 - s2">;
def Npu_VesubMFOp : Npu_MF<"vesub", "s1 - s2">;
def Npu_VeemulMMOp : Npu_MM<"veemul", "s1 * s2">;
def Npu_VeemulMVOp : Npu_MV<"veemul", "s1 * s2">;
def Npu_VeemulMFOp : Npu_MF<"veemul", "s1 * s2">;
def Npu_VemaxMMOp : Npu_MM<"vemax", "larger of s1 and s2">;
def Npu_VemaxMVOp : Npu_MV<"vemax", "larger of s1 and s2">;
def Npu_VemaxMFOp : Npu_MF<"vemax", "larger of s1 and s2">;
def Npu_VeminMMOp : Npu_MM<"vemin", "smaller of s1 and s2">;
def Npu_VeminMVOp : Npu_MV<"vemin", "smaller of s1 and s2">;
def Npu_VeminMFOp : Npu_MF<"vemin", "smaller of s1 and s2">;
def Npu_VelkreluMVOp : Npu_MV<"velkrelu", "s1 above zero, else s1 * s2">;
def Npu_VelkreluMFOp : Npu_MF<"velkrelu", "s1 above zero, else s1 * s2">;
def Npu_VeemulX32MVOp : Npu_RdRs1Rs2<"veemul.x32.mv"> { let summary = "int32 matrix times one half per column, to half"; }
def Npu_VeemulX32MFOp : Npu_RdRs1Fs2<"veemul.x32.mf"> { let summary = "int32 matrix times scalar, to half"; }
def Npu_VeemulX8HfMFOp : Npu_RdRs1Fs2<"veemul.x8.hf.mf"> { let summary = "half matrix times scalar, to int8"; }
def Npu_VelutMOp : Npu_RdRs1Rs2<"velut.m"> { let summary = "table at s2, indexed by the 16-bit elements of s1"; }
def Npu_VeexpMOp : Npu_RdRs1<"veexp.m"> { let summary = "exponential"; }
def Npu_VesqrtMOp : Npu_RdRs1<"vesqrt.m"> { let summary = "square root"; }
def Npu_VerecipMOp : Npu_RdRs1<"verecip.m"> { let summary = "reciprocal"; }
def Npu_VecvtHfX8MOp : Npu_RdRs1<"vecvt.hf.x8.m"> { let summary = "int8 to half"; }
def Npu_VecvtHfXu8MOp : Npu_RdRs1<"vecvt.hf.xu8.m"> { let summary = "uint8 to half"; }
def Npu_VecvtX8HfMOp : Npu_RdRs1<"vecvt.x8.hf.m"> { let summary = "half to int8, truncated and saturated"; }
def Npu_MovMOp : Npu_RdRs1<"mov.m"> { let summary = "copy"; }
def Npu_MovVOp : Npu_RdRs1Dm<"mov.v"> { let summary = "vector in every row, with dm in every column"; }
def Npu_MovFOp : Npu_Insn<"mov.f"> {
  let summary = "scalar in every element";
  let arguments = (ins I32:$rd, F32:$fs1);
  let assemblyFormat = "$rd `,` $fs1 attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rd, "::mlir::Value":$fs1), "$_state.addOperands({rd, fs1});">];
}

//===-- vector engine, reductions ------------------------------------------------------------------------===//

// The forms with a destination in memory set dmc; dm chooses one result per row instead of one per column.
// The `.full` forms leave one FP32 value in an f register.
defvar dmcAlways = "bool dmcBit() { return true; }";

class Npu_Reduce<string mnemonic, string text> : Npu_RdRs1Dm<mnemonic> {
  let summary = text # " per column, with dm per row";
  let extraClassDeclaration = dmcAlways;
}
class Npu_ReduceFull<string mnemonic, string text> : Npu_Insn<mnemonic # ".full", mnemonic> {
  let summary = text # " of all elements";
  let arguments = (ins I32:$rs1);
  let results = (outs F32:$result);
  let assemblyFormat = "$rs1 attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rs1),
    "$_state.addOperands({rs1}); $_state.addTypes($_builder.getF32Type());">];
}
def Npu_VeaccMOp : Npu_Reduce<"veacc.m", "sum">;
def Npu_VeaccMFullOp : Npu_ReduceFull<"veacc.m", "sum">;
def Npu_VemaxMOp : Npu_Reduce<"vemax.m", "largest">;
def Npu_VemaxMFullOp : Npu_ReduceFull<"vemax.m", "largest">;
def Npu_VeminMOp : Npu_Reduce<"vemin.m", "smallest">;
def Npu_VeminMFullOp : Npu_ReduceFull<"vemin.m", "smallest">;
def Npu_VeemaccMMOp : Npu_RdRs1Rs2Dm<"veemacc.mm"> {
  let summary = "sum of s1 * s2 per column, with dm per row";
  let extraClassDeclaration = dmcAlways;
}
def Npu_VeemaccMVOp : Npu_RdRs1Rs2Dm<"veemacc.mv"> {
  let summary = "sum per column of s1 times one factor per row; with dm per row, one factor per column";
  let extraClassDeclaration = dmcAlways;
}
def Npu_VeemaccMFOp : Npu_RdRs1Fs2Dm<"veemacc.mf"> {
  let summary = "sum of s1 * scalar per column, with dm per row";
  let extraClassDeclaration = dmcAlways;
}
def Npu_VeemaccMMFullOp : Npu_Insn<"veemacc.mm.full", "veemacc.mm"> {
  let summary = "sum of s1 * s2 over all elements";
  let arguments = (ins I32:$rs1, I32:$rs2);
  let results = (outs F32:$result);
  let assemblyFormat = "$rs1 `,` $rs2 attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$rs1, "::mlir::Value":$rs2),
    "$_state.addOperands({rs1, rs2}); $_state.addTypes($_builder.getF32Type());">];
}

//===-- matrix engine ------------------------------------------------------------------------------------===//

def Npu_MemulMMOp : Npu_RdRs1Rs2Dm<"memul.mm"> { let summary = "matrix product, with dm s1 is stored transposed"; }
def Npu_MemulX8MMOp : Npu_RdRs1Rs2<"memul.x8.mm"> { let summary = "int8 matrix product to int32"; }
def Npu_MemulHfX8MMOp : Npu_RdRs1Rs2<"memul.hf.x8.mm"> { let summary = "int8 matrix product, scaled to half"; }
def Npu_MeconvMMOp : Npu_RdRs1Rs2<"meconv.mm"> { let summary = "convolution of the image s1 with the weights s2"; }
def Npu_MeconvX8MMOp : Npu_RdRs1Rs2<"meconv.x8.mm"> { let summary = "int8 convolution to int32"; }
def Npu_MeconvHfX8MMOp : Npu_RdRs1Rs2<"meconv.hf.x8.mm"> { let summary = "int8 convolution, scaled to half"; }
def Npu_MetrMOp : Npu_RdRs1<"metr.m"> { let summary = "transposed copy"; }

//===-- transfers and synchronisation --------------------------------------------------------------------===//

def Npu_MovL1LlbOp : Npu_RdRs1<"mov.l1.llb"> { let summary = "LLB to own L1"; }
def Npu_MovLlbL1Op : Npu_RdRs1<"mov.llb.l1"> { let summary = "own L1 to LLB"; }
def Npu_PldOp : Npu_RdRs1<"pld"> { let summary = "LLB to the L1 of all cores of mte_coremap, which meet here"; }
def Npu_IcmovOp : Npu_RdRs1Rs2<"icmov"> { let summary = "rs2 bytes from own L1 to the L1 of the core in mte_icdest"; }
def Npu_SyncOp : Npu_Insn<"sync"> {
  let summary = "barrier of the cores of an HSYNC group";
  let assemblyFormat = "attr-dict";
  let builders = [OpBuilder<(ins), "(void)$_builder;">];
}

//===-- scalar side --------------------------------------------------------------------------------------===//

def Npu_FlhwOp : Npu_Insn<"flhw"> {
  let summary = "loads a half as FP32";
  let arguments = (ins I32:$address);
  let results = (outs F32:$value);
  let assemblyFormat = "$address attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$address),
    "$_state.addOperands({address}); $_state.addTypes($_builder.getF32Type());">];
}
def Npu_FshwOp : Npu_Insn<"fshw"> {
  let summary = "stores FP32 as a half";
  let arguments = (ins I32:$address, F32:$value);
  let assemblyFormat = "$address `,` $value attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$address, "::mlir::Value":$value),
    "$_state.addOperands({address, value});">];
}
def Npu_CsrwOp : Npu_Op<"csrw", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes a CSR, by its name in the chip's table";
  let arguments = (ins StrAttr:$csr, I32:$value);
  let assemblyFormat = "$csr `,` $value attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$csr, "::mlir::Value":$value), [{
    $_state.addOperands({value});
    $_state.getOrAddProperties<Properties>().csr = $_builder.getStringAttr(csr);
  }]>];
  let hasVerifier = 1;
}
def Npu_CoreIdOp : Npu_Op<"core_id", [Pure]> {
  let summary = "number of the core that runs";
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict";
  let builders = [OpBuilder<(ins), "$_state.addTypes($_builder.getI32Type());">];
}
def Npu_Load32Op : Npu_Op<"load32", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "loads a word of memory or a memory-mapped register";
  let arguments = (ins I32:$address);
  let results = (outs I32:$value);
  let assemblyFormat = "$address attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$address),
    "$_state.addOperands({address}); $_state.addTypes($_builder.getI32Type());">];
}
def Npu_Store32Op : Npu_Op<"store32", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "stores a word to memory or a memory-mapped register";
  let arguments = (ins I32:$address, I32:$value);
  let assemblyFormat = "$address `,` $value attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$address, "::mlir::Value":$value),
    "$_state.addOperands({address, value});">];
}
def Npu_WaitOp : Npu_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "reads a word until one of the bits of the mask is set";
  let arguments = (ins I32:$address, I32:$mask);
  let assemblyFormat = "$address `,` $mask attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$address, "::mlir::Value":$mask),
    "$_state.addOperands({address, mask});">];
}

#endif
