// Operations of the tile dialect. Memory effects are declared on every op that touches memory or orders
// it, so that nothing is removed or moved by generic clean-ups.
#ifndef TENSORTURBO_TILE_OPS
#define TENSORTURBO_TILE_OPS

include "TileBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;
class Tile_EffectOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, traits # [MemoryEffects<[MemRead, MemWrite]>]>;

//===-- buffers ------------------------------------------------------------------------------------------===//

def Tile_GlobalOp : Tile_Op<"global", [Symbol]> {
  let summary = "a tensor that outlives a kernel, in DDR or LLB: constant, input, output or intermediate result";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$bytes,
    // Key of the bytes in the constant store, for constants.
    OptionalAttr<I64Attr>:$constant,
    // Set by the memory plan.
    OptionalAttr<I64Attr>:$address);
  let assemblyFormat = "$sym_name attr-dict";
}
def Tile_GlobalBufferOp : Tile_Op<"global_buffer", [Pure]> {
  let summary = "the buffer of a global tensor, in DDR or LLB";
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs Tile_Buffer:$buffer);
  let assemblyFormat = "$global attr-dict `:` type($buffer)";
}
def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer that lives as long as the kernel, in LLB, L1 or IM";
  let arguments = (ins StrAttr:$name, I64Attr:$bytes,
    // Set by the memory plan: offset from the start of the level.
    OptionalAttr<I64Attr>:$offset);
  let results = (outs Tile_Buffer:$buffer);
  let assemblyFormat = "$name $bytes attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}
def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "a place `offset` bytes into a buffer";
  let arguments = (ins Tile_Buffer:$buffer, I32:$offset);
  let results = (outs Tile_Pointer:$pointer);
  let assemblyFormat = "$buffer `[` $offset `]` attr-dict `:` type($buffer) `->` type($pointer)";
  let hasVerifier = 1;
}
def Tile_CoreIdOp : Tile_Op<"core_id", [Pure]> {
  let summary = "number of the core that runs, 0 to ncore - 1";
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict";
}
def Tile_BarrierOp : Tile_EffectOp<"barrier"> {
  let summary = "waits for all cores of the kernel";
  let assemblyFormat = "attr-dict";
}

//===-- moves --------------------------------------------------------------------------------------------===//

def Tile_DmaOp : Tile_EffectOp<"dma"> {
  let summary = "system DMA between DDR and LLB: `rows` rows of `row_bytes`; the source has a stride, the destination is dense";
  let description = "Blocks the core that runs it until the data have arrived. At most one core may run it at a time.";
  let arguments = (ins Tile_PtrShared:$dst, Tile_PtrShared:$src, I32:$rows, I32:$row_bytes, I32:$src_stride);
  let assemblyFormat = "$dst `,` $src `rows` $rows `bytes` $row_bytes `stride` $src_stride attr-dict `:` type($dst) `,` type($src)";
}
def Tile_BringOp : Tile_EffectOp<"bring"> {
  let summary = "bytes from DDR to LLB, by the core that runs it: they are there when it ends";
  let description = [{
    What a kernel asks for; scheduleTransfers makes transfers of it that run ahead, or system DMA on the spot. The bytes
    of part n of the batch, the kernel's argument, lie at `from` + n * `part` in DDR.
  }];
  let arguments = (ins Tile_Buffer:$dst, Tile_Buffer:$src, I64Attr:$bytes,
                       DefaultValuedAttr<I64Attr, "0">:$offset, DefaultValuedAttr<I64Attr, "0">:$part_bytes);
  let assemblyFormat = "$dst `,` $src `bytes` $bytes (`from` $offset^)? (`part` $part_bytes^)? attr-dict `:` type($dst) `,` type($src)";
}
def Tile_WriteBackOp : Tile_EffectOp<"write_back"> {
  let summary = "bytes from LLB to DDR, by the core that runs it, at the end of its kernel";
  let description = "As tile.bring: the transfer may run on beside the kernels that follow.";
  let arguments = (ins Tile_Buffer:$dst, Tile_Buffer:$src, I64Attr:$bytes,
                       DefaultValuedAttr<I64Attr, "0">:$part_bytes);
  let assemblyFormat = "$dst `,` $src `bytes` $bytes (`part` $part_bytes^)? attr-dict `:` type($dst) `,` type($src)";
}
def Tile_DmaStartOp : Tile_EffectOp<"dma_start", [SameVariadicOperandSize]> {
  let summary = "starts copies between DDR and LLB that run beside the program, one behind the other on a channel";
  let description = "Each copy has less than 4 MiB. Before the next start of the channel comes its dma_wait; core 0 alone runs both.";
  let arguments = (ins Variadic<Tile_PtrShared>:$dst, Variadic<Tile_PtrShared>:$src, Variadic<I32>:$bytes,
                       I32Attr:$channel);
  let assemblyFormat = "$dst `from` $src `bytes` $bytes `channel` $channel attr-dict `:` type($dst) `from` type($src)";
}
def Tile_DmaWaitOp : Tile_EffectOp<"dma_wait"> {
  let summary = "waits for the copies that dma_start began on the channel";
  let arguments = (ins I32Attr:$channel);
  let assemblyFormat = "`channel` $channel attr-dict";
}
def Tile_LoadWordOp : Tile_EffectOp<"load_word"> {
  let summary = "the 32-bit word at an address, for the scalar core";
  let arguments = (ins Tile_PtrShared:$src);
  let results = (outs I32:$value);
  let assemblyFormat = "$src attr-dict `:` type($src)";
}
class Tile_MoveOp<string mnemonic, Type dstType, Type srcType> : Tile_EffectOp<mnemonic> {
  // `columns` counts 2-byte elements; the stride belongs to the LLB side, the L1 side is dense.
  let arguments = (ins dstType:$dst, srcType:$src, I32:$rows, I32:$columns, I32:$llb_stride);
  let assemblyFormat = "$dst `,` $src `rows` $rows `columns` $columns `stride` $llb_stride attr-dict `:` type($dst) `,` type($src)";
}
def Tile_LoadOp : Tile_MoveOp<"load", Tile_PtrL1, Tile_PtrLLB> { let summary = "LLB to the core's L1"; }
def Tile_StoreOp : Tile_MoveOp<"store", Tile_PtrLLB, Tile_PtrL1> { let summary = "the core's L1 to LLB"; }
def Tile_BroadcastOp : Tile_MoveOp<"broadcast", Tile_PtrL1, Tile_PtrLLB> {
  let summary = "LLB to the L1 of every core of the kernel; all of them must run it in the same order";
}
def Tile_SendOp : Tile_EffectOp<"send"> {
  let summary = "own L1 to the L1 of another core, contiguous";
  let arguments = (ins Tile_PtrL1:$dst, Tile_PtrL1:$src, I32:$bytes, I32:$core);
  let assemblyFormat = "$dst `,` $src `bytes` $bytes `core` $core attr-dict `:` type($dst) `,` type($src)";
}

//===-- matrix engine ------------------------------------------------------------------------------------===//

def Tile_ConvOp : Tile_EffectOp<"conv"> {
  let summary = "convolution of one NHWC feature map in FP16; weights are [kh*kw*cin][cout]";
  let arguments = (ins Tile_PtrIM:$dst, Tile_PtrCore:$src, Tile_PtrL1:$weights,
    I32:$height, I32:$width, I32:$cin, I32:$src_pixel_stride,
    I32:$out_height, I32:$out_width, I32:$cout, I32:$dst_pixel_stride, I32:$weight_row_stride,
    I32:$top, I32:$bottom, I32:$left, I32:$right,
    I32Attr:$kernel_height, I32Attr:$kernel_width, I32Attr:$dilation, I32Attr:$stride);
  let assemblyFormat = [{
    $dst `,` $src `,` $weights `in` `(` $height `,` $width `,` $cin `,` $src_pixel_stride `)`
    `out` `(` $out_height `,` $out_width `,` $cout `,` $dst_pixel_stride `)` `wstride` $weight_row_stride
    `pad` `(` $top `,` $bottom `,` $left `,` $right `)` attr-dict `:` type($dst) `,` type($src) `,` type($weights)
  }];
}
def Tile_MatmulOp : Tile_EffectOp<"matmul"> {
  let summary = "dst[m][n] = lhs[m][k] * rhs[k][n] in FP16; with `transposed`, lhs is stored [k][m]";
  let arguments = (ins Tile_PtrIM:$dst, Tile_PtrCore:$lhs, Tile_PtrL1:$rhs, I32:$m, I32:$k, I32:$n,
    I32:$dst_stride, I32:$lhs_stride, I32:$rhs_stride, UnitAttr:$transposed);
  let assemblyFormat = [{
    $dst `,` $lhs `,` $rhs `size` `(` $m `,` $k `,` $n `)` `strides` `(` $dst_stride `,` $lhs_stride `,` $rhs_stride `)`
    attr-dict `:` type($dst) `,` type($lhs) `,` type($rhs)
  }];
}
def Tile_TransposeOp : Tile_EffectOp<"transpose"> {
  let summary = "dst[c][r] = src[r][c], 2-byte elements";
  let arguments = (ins Tile_PtrIM:$dst, Tile_PtrCore:$src, I32:$rows, I32:$columns, I32:$dst_stride, I32:$src_stride);
  let assemblyFormat = [{
    $dst `,` $src `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $src_stride `)`
    attr-dict `:` type($dst) `,` type($src)
  }];
}

//===-- vector engine ------------------------------------------------------------------------------------===//

def Tile_BinaryOp : Tile_EffectOp<"binary"> {
  let summary = "element-wise with a matrix";
  let arguments = (ins Tile_BinaryKindAttr:$kind, Tile_PtrCore:$dst, Tile_PtrCore:$lhs, Tile_PtrCore:$rhs,
    I32:$rows, I32:$columns, I32:$dst_stride, I32:$lhs_stride, I32:$rhs_stride);
  let assemblyFormat = [{
    $kind $dst `,` $lhs `,` $rhs `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $lhs_stride `,` $rhs_stride `)`
    attr-dict `:` type($dst) `,` type($lhs) `,` type($rhs)
  }];
}
def Tile_BinaryVectorOp : Tile_EffectOp<"binary_vector"> {
  let summary = "element-wise with a dense vector: one element per column or per row";
  let arguments = (ins Tile_BinaryKindAttr:$kind, Tile_AxisAttr:$axis, Tile_PtrCore:$dst, Tile_PtrCore:$lhs,
    Tile_PtrCore:$vector, I32:$rows, I32:$columns, I32:$dst_stride, I32:$lhs_stride);
  let assemblyFormat = [{
    $kind $axis $dst `,` $lhs `,` $vector `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $lhs_stride `)`
    attr-dict `:` type($dst) `,` type($lhs) `,` type($vector)
  }];
}
def Tile_BinaryScalarOp : Tile_EffectOp<"binary_scalar"> {
  let summary = "element-wise with a constant (must be representable in FP16)";
  let arguments = (ins Tile_BinaryKindAttr:$kind, F32Attr:$value, Tile_PtrCore:$dst, Tile_PtrCore:$lhs,
    I32:$rows, I32:$columns, I32:$dst_stride, I32:$lhs_stride);
  let assemblyFormat = [{
    $kind $dst `,` $lhs `,` $value `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $lhs_stride `)`
    attr-dict `:` type($dst) `,` type($lhs)
  }];
}
def Tile_UnaryOp : Tile_EffectOp<"unary"> {
  let summary = "copy, exp, square root, reciprocal, conversions";
  let arguments = (ins Tile_UnaryKindAttr:$kind, Tile_PtrCore:$dst, Tile_PtrCore:$src, I32:$rows, I32:$columns,
    I32:$dst_stride, I32:$src_stride);
  let assemblyFormat = [{
    $kind $dst `,` $src `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $src_stride `)`
    attr-dict `:` type($dst) `,` type($src)
  }];
}
def Tile_LookupOp : Tile_EffectOp<"lookup"> {
  let summary = "dst = table[bits of src]: any function of one half; the table holds 65,536 halves";
  let arguments = (ins Tile_PtrCore:$dst, Tile_PtrCore:$src, Tile_PtrCore:$table, I32:$rows, I32:$columns,
    I32:$dst_stride, I32:$src_stride);
  let assemblyFormat = [{
    $dst `,` $src `,` $table `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $src_stride `)`
    attr-dict `:` type($dst) `,` type($src) `,` type($table)
  }];
}
def Tile_FillOp : Tile_EffectOp<"fill"> {
  let summary = "a constant in every element";
  let arguments = (ins F32Attr:$value, Tile_PtrCore:$dst, I32:$rows, I32:$columns, I32:$dst_stride);
  let assemblyFormat = "$dst `,` $value `size` `(` $rows `,` $columns `)` `stride` $dst_stride attr-dict `:` type($dst)";
}
def Tile_SpreadOp : Tile_EffectOp<"spread"> {
  let summary = "a dense vector repeated: in every row (one element per column) or in every column (one per row)";
  let arguments = (ins Tile_AxisAttr:$axis, Tile_PtrCore:$dst, Tile_PtrCore:$vector, I32:$rows, I32:$columns,
    I32:$dst_stride);
  let assemblyFormat = [{
    $axis $dst `,` $vector `size` `(` $rows `,` $columns `)` `stride` $dst_stride attr-dict `:` type($dst) `,` type($vector)
  }];
}
def Tile_ReduceOp : Tile_EffectOp<"reduce"> {
  let summary = "fold to one element per column or per row; with `scale`, every term of a sum is multiplied first";
  let description = "Results per column are dense; results per row lie `dst_stride` bytes apart (0: dense).";
  let arguments = (ins Tile_ReduceKindAttr:$kind, Tile_AxisAttr:$axis, Tile_PtrCore:$dst, Tile_PtrCore:$src,
    I32:$rows, I32:$columns, I32:$dst_stride, I32:$src_stride, OptionalAttr<F32Attr>:$scale);
  let assemblyFormat = [{
    $kind $axis $dst `,` $src `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $src_stride `)`
    attr-dict `:` type($dst) `,` type($src)
  }];
}
def Tile_DotOp : Tile_EffectOp<"dot"> {
  let summary = "sum of products of two matrices, one result per column or per row";
  let arguments = (ins Tile_AxisAttr:$axis, Tile_PtrCore:$dst, Tile_PtrCore:$lhs, Tile_PtrCore:$rhs,
    I32:$rows, I32:$columns, I32:$dst_stride, I32:$lhs_stride, I32:$rhs_stride);
  let assemblyFormat = [{
    $axis $dst `,` $lhs `,` $rhs `size` `(` $rows `,` $columns `)` `strides` `(` $dst_stride `,` $lhs_stride `,` $rhs_stride `)`
    attr-dict `:` type($dst) `,` type($lhs) `,` type($rhs)
  }];
}

#endif
