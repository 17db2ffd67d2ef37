// The tile dialect: where data lies and when it moves. Symbolic buffers, no addresses.
#ifndef TENSORTURBO_TILE_BASE
#define TENSORTURBO_TILE_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tensorturbo::tile";
  let summary = "buffers in the memory levels of the chip, moves between them, compute on tiles";
  let description = [{
    One function per fused operator, run by every core. Loops are `scf.for` over `i32`, arithmetic is `arith`.
    All sizes and strides are `i32` values, so that ragged tiles and per-core ranges stay loops.
    Strides are in bytes, 0 means dense; rows and columns count elements (2-byte ones for moves).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{ void registerTypes(); }];
}

def Tile_DDR : I32EnumAttrCase<"DDR", 0>;
def Tile_LLB : I32EnumAttrCase<"LLB", 1>;
def Tile_L1 : I32EnumAttrCase<"L1", 2>;
def Tile_IM : I32EnumAttrCase<"IM", 3>;
def Tile_Level : I32EnumAttr<"MemoryLevel", "memory level of the chip", [Tile_DDR, Tile_LLB, Tile_L1, Tile_IM]> {
  let cppNamespace = "::tensorturbo::tile";
  let genSpecializedAttr = 0;
}
def Tile_LevelAttr : EnumAttr<Tile_Dialect, Tile_Level, "level">;

class Tile_Type<string name, string mnemonicText> : TypeDef<Tile_Dialect, name> {
  let mnemonic = mnemonicText;
  let parameters = (ins EnumParameter<Tile_Level>:$level);
  let assemblyFormat = "`<` $level `>`";
}
def Tile_Buffer : Tile_Type<"Buffer", "buffer"> {
  let summary = "a named piece of one memory level; its address is chosen by the memory plan";
}
def Tile_Pointer : Tile_Type<"Pointer", "ptr"> {
  let summary = "a place inside a buffer";
}

class Tile_PointerIn<string levels, string comparison> : Type<
    And<[CPred<"::llvm::isa<::tensorturbo::tile::PointerType>($_self)">,
         CPred<"::llvm::cast<::tensorturbo::tile::PointerType>($_self).getLevel() "
               # !subst("LEVEL ", "::tensorturbo::tile::MemoryLevel::", comparison)>]>,
    "pointer into " # levels, "::tensorturbo::tile::PointerType">;
def Tile_PtrLLB : Tile_PointerIn<"LLB", "== LEVEL LLB">;
def Tile_PtrL1 : Tile_PointerIn<"L1", "== LEVEL L1">;
def Tile_PtrIM : Tile_PointerIn<"IM", "== LEVEL IM">;
def Tile_PtrCore : Tile_PointerIn<"L1 or IM", ">= LEVEL L1">;
def Tile_PtrShared : Tile_PointerIn<"DDR or LLB", "<= LEVEL LLB">;

def Tile_BinaryKind : I32EnumAttr<"BinaryKind", "element-wise operation of the vector engine", [
    I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"sub", 1>, I32EnumAttrCase<"mul", 2>, I32EnumAttrCase<"max", 3>,
    I32EnumAttrCase<"min", 4>, I32EnumAttrCase<"leaky_relu", 5>]> {
  let cppNamespace = "::tensorturbo::tile";
  let genSpecializedAttr = 0;
}
def Tile_BinaryKindAttr : EnumAttr<Tile_Dialect, Tile_BinaryKind, "binary_kind">;

def Tile_UnaryKind : I32EnumAttr<"UnaryKind", "one-operand operation of the vector engine", [
    I32EnumAttrCase<"copy", 0>, I32EnumAttrCase<"exp", 1>, I32EnumAttrCase<"sqrt", 2>,
    I32EnumAttrCase<"reciprocal", 3>, I32EnumAttrCase<"half_from_int8", 4>, I32EnumAttrCase<"half_from_uint8", 5>,
    I32EnumAttrCase<"int8_from_half", 6>]> {
  let cppNamespace = "::tensorturbo::tile";
  let genSpecializedAttr = 0;
}
def Tile_UnaryKindAttr : EnumAttr<Tile_Dialect, Tile_UnaryKind, "unary_kind">;

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "fold of the vector engine", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>]> {
  let cppNamespace = "::tensorturbo::tile";
  let genSpecializedAttr = 0;
}
def Tile_ReduceKindAttr : EnumAttr<Tile_Dialect, Tile_ReduceKind, "reduce_kind">;

// Which way a vector lies against a matrix, or a fold runs: `columns` = one element per column,
// `rows` = one element per row.
def Tile_Axis : I32EnumAttr<"Axis", "one element per column or per row", [
    I32EnumAttrCase<"columns", 0>, I32EnumAttrCase<"rows", 1>]> {
  let cppNamespace = "::tensorturbo::tile";
  let genSpecializedAttr = 0;
}
def Tile_AxisAttr : EnumAttr<Tile_Dialect, Tile_Axis, "axis">;

#endif
