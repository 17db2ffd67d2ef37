#include "Conversion/RelayToLinalg/Emitter.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tensorturbo::host {

Type storageType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Tensor Emitter::get(Value relayValue) {
  return {values.lookup(relayValue), cast<RankedTensorType>(relayValue.getType()).getElementType()};
}

void Emitter::set(Value relayResult, const Tensor &tensor) {
  auto type = cast<RankedTensorType>(relayResult.getType());
  Tensor result =
      tensor.element == type.getElementType() ? tensor : castTensor(tensor, type.getElementType());
  values.map(relayResult, result.value);
}

void Emitter::unsupported(Operation *op, const std::string &why) {
  diags.resourceError("operator " + op->getName().getStringRef().str() + " cannot run on the host: " + why,
                      relay::nodeName(op->getLoc()));
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    values.map(result, empty(storageType(type.getElementType()), type.getShape()));
  }
}

void Emitter::setConstant(Value relayResult, const Constant &constant) {
  auto relayType = cast<RankedTensorType>(relayResult.getType());
  RankedTensorType type = tensorType(relayType.getElementType(), relayType.getShape());
  if (constant.bytes == 0)
    return bind(relayResult, empty(type.getElementType(), type.getShape()));
  if (type.getNumElements() == 1) {
    // In the code itself, where it folds.
    ArrayRef<char> raw(reinterpret_cast<const char *>(constant.data), constant.bytes);
    return bind(relayResult, make<arith::ConstantOp>(DenseElementsAttr::getFromRawBuffer(type, raw)));
  }
  std::string symbol = "tt_const_" + std::to_string(constants.size());
  constants.push_back({symbol, constant.data, constant.bytes, constant.owner});
  auto bufferType = MemRefType::get(type.getShape(), type.getElementType());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(b, loc, symbol, StringAttr(), bufferType, Attribute(), /*constant=*/true,
                             /*alignment=*/b.getI64IntegerAttr(64));
  }
  Value buffer = make<memref::GetGlobalOp>(bufferType, symbol);
  bind(relayResult, make<bufferization::ToTensorOp>(type, buffer, /*restrict=*/true, /*writable=*/false));
}

Value Emitter::empty(Type storage, ArrayRef<int64_t> shape) {
  return make<tensor::EmptyOp>(shape, storage);
}

Value Emitter::filled(Value scalar, ArrayRef<int64_t> shape) {
  return linalg::FillOp::create(b, loc, scalar, empty(scalar.getType(), shape)).getResult(0);
}

Value Emitter::load(const Tensor &tensor, ValueRange indices) {
  return fromStorage(make<tensor::ExtractOp>(tensor.value, indices), tensor.element);
}

Value Emitter::fromStorage(Value scalar, Type element) {
  if (element.isInteger(1))
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne, scalar, integer(scalar.getType(), 0));
  Type compute = computeType(element);
  return scalar.getType() == compute ? scalar : make<arith::ExtFOp>(compute, scalar);
}

Value Emitter::toStorage(Value scalar, Type element) {
  Type storage = storageType(element);
  if (element.isInteger(1))
    return make<arith::ExtUIOp>(storage, scalar);
  return scalar.getType() == storage ? scalar : make<arith::TruncFOp>(storage, scalar);
}

Value Emitter::genericOp(Value init, ArrayRef<Tensor> inputs, ArrayRef<AffineMap> maps, AffineMap outMap,
                         ArrayRef<utils::IteratorType> iterators, ArrayRef<Value> extraInputs,
                         ArrayRef<AffineMap> extraMaps,
                         llvm::function_ref<Value(ValueRange elements, Value out)> body) {
  SmallVector<Value> operands;
  for (const Tensor &input : inputs)
    operands.push_back(input.value);
  llvm::append_range(operands, extraInputs);
  SmallVector<AffineMap> allMaps(maps);
  llvm::append_range(allMaps, extraMaps);
  allMaps.push_back(outMap);
  return linalg::GenericOp::create(
             b, loc, TypeRange{init.getType()}, operands, ValueRange{init}, allMaps, iterators,
             [&](OpBuilder &inner, Location, ValueRange args) {
               OpBuilder::InsertionGuard guard(b);
               b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
               SmallVector<Value> elements;
               for (auto [i, input] : llvm::enumerate(inputs))
                 elements.push_back(fromStorage(args[i], input.element));
               Value result = body(elements, args.back());
               linalg::YieldOp::create(b, loc, result);
             })
      .getResult(0);
}

static AffineMap broadcastMap(ArrayRef<int64_t> from, ArrayRef<int64_t> to, MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (auto [i, extent] : llvm::enumerate(from)) {
    size_t target = to.size() - from.size() + i;
    exprs.push_back(extent == to[target] ? getAffineDimExpr(target, context)
                                         : getAffineConstantExpr(0, context));
  }
  return AffineMap::get(to.size(), 0, exprs, context);
}

Tensor Emitter::map(Type element, ArrayRef<int64_t> shape, llvm::function_ref<Value(ValueRange)> body) {
  SmallVector<utils::IteratorType> iterators(shape.size(), utils::IteratorType::parallel);
  Value result = genericOp(empty(storageType(element), shape), {}, {}, b.getMultiDimIdentityMap(shape.size()),
                           iterators, {}, {}, [&](ValueRange, Value) {
                             SmallVector<Value> indices;
                             for (size_t i = 0; i < shape.size(); ++i)
                               indices.push_back(make<linalg::IndexOp>(i));
                             return toStorage(body(indices), element);
                           });
  return {result, element};
}

Tensor Emitter::mapWith(Type element, ArrayRef<int64_t> shape, ArrayRef<Tensor> inputs,
                        ArrayRef<AffineMap> maps, llvm::function_ref<Value(ValueRange)> body) {
  SmallVector<utils::IteratorType> iterators(shape.size(), utils::IteratorType::parallel);
  Value result = genericOp(empty(storageType(element), shape), inputs, maps,
                           b.getMultiDimIdentityMap(shape.size()), iterators, {}, {},
                           [&](ValueRange elements, Value) { return toStorage(body(elements), element); });
  return {result, element};
}

Tensor Emitter::mapElements(Type element, ArrayRef<int64_t> shape, ArrayRef<Tensor> inputs,
                            llvm::function_ref<Value(ValueRange)> body) {
  SmallVector<AffineMap> maps;
  for (const Tensor &input : inputs)
    maps.push_back(broadcastMap(input.shape(), shape, b.getContext()));
  return mapWith(element, shape, inputs, maps, body);
}

Tensor Emitter::accumulate(Type accumulator, ArrayRef<int64_t> loops, ArrayRef<int64_t> out, Value init,
                           ArrayRef<Tensor> inputs, ArrayRef<AffineMap> maps,
                           llvm::function_ref<Value(ValueRange, ValueRange, Value)> body) {
  MLIRContext *context = b.getContext();
  SmallVector<utils::IteratorType> iterators(loops.size(), utils::IteratorType::reduction);
  Shape outShape, windowShape;
  SmallVector<AffineExpr> outExprs, windowExprs;
  for (int64_t i : out) {
    iterators[i] = utils::IteratorType::parallel;
    outShape.push_back(loops[i]);
    outExprs.push_back(getAffineDimExpr(i, context));
  }
  for (size_t i = 0; i < loops.size(); ++i)
    if (iterators[i] == utils::IteratorType::reduction) {
      windowShape.push_back(loops[i]);
      windowExprs.push_back(getAffineDimExpr(i, context));
    }
  // Tells linalg how far the accumulating loops go; its elements are never read.
  Value window = empty(b.getI8Type(), windowShape);
  AffineMap windowMap = AffineMap::get(loops.size(), 0, windowExprs, context);
  AffineMap outMap = AffineMap::get(loops.size(), 0, outExprs, context);
  // Accumulators lie in memory as they are computed; bool as a byte.
  Type kept = computeType(accumulator);
  Value start = filled(toStorage(init, kept), outShape);
  Value result = genericOp(start, inputs, maps, outMap, iterators, {window}, {windowMap},
                           [&](ValueRange elements, Value sum) {
                             SmallVector<Value> indices;
                             for (size_t i = 0; i < loops.size(); ++i)
                               indices.push_back(make<linalg::IndexOp>(i));
                             return toStorage(body(indices, elements, fromStorage(sum, kept)), kept);
                           });
  return {result, isFloat(accumulator) || accumulator.isInteger(1) ? kept : accumulator};
}

Tensor Emitter::castTensor(const Tensor &tensor, Type element) {
  if (tensor.element == element)
    return tensor;
  return mapElements(element, tensor.shape(), {tensor},
                     [&](ValueRange x) { return castScalar(x[0], tensor.element, element); });
}

Tensor Emitter::reshape(const Tensor &tensor, ArrayRef<int64_t> shape) {
  if (tensor.shape() == shape)
    return tensor;
  Value value = tensor.value;
  Type storage = storageType(tensor.element);
  // Through one dimension.
  if (tensor.rank() != 1) {
    auto flat = RankedTensorType::get({tensor.count()}, storage);
    SmallVector<ReassociationIndices> groups;
    if (tensor.rank() > 0)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, tensor.rank())));
    value = tensor.rank() == 0 ? make<tensor::ExpandShapeOp>(flat, value, groups)
                               : make<tensor::CollapseShapeOp>(flat, value, groups);
  }
  if (shape.size() != 1) {
    auto target = RankedTensorType::get(shape, storage);
    SmallVector<ReassociationIndices> groups;
    if (!shape.empty())
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
    value = shape.empty() ? make<tensor::CollapseShapeOp>(target, value, groups)
                          : make<tensor::ExpandShapeOp>(target, value, groups);
  }
  return {value, tensor.element};
}

Tensor Emitter::transpose(const Tensor &tensor, ArrayRef<int64_t> permutation) {
  MLIRContext *context = b.getContext();
  Shape shape;
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, source] : llvm::enumerate(permutation)) {
    shape.push_back(tensor.dim(source));
    exprs[source] = getAffineDimExpr(i, context);
  }
  return mapWith(tensor.element, shape, {tensor}, {AffineMap::get(shape.size(), 0, exprs, context)},
                 [](ValueRange x) { return x[0]; });
}

Tensor Emitter::slice(const Tensor &tensor, ArrayRef<relay::Slice> slices) {
  Shape shape;
  for (const relay::Slice &s : slices)
    shape.push_back(s.size);
  return map(tensor.element, shape, [&](ValueRange indices) {
    SmallVector<Value> source;
    for (auto [i, s] : llvm::zip_equal(indices, slices))
      source.push_back(add(mul(i, index(s.stride)), index(s.begin)));
    return load(tensor, source);
  });
}

Tensor Emitter::padWith(const Tensor &tensor, ArrayRef<int64_t> before, ArrayRef<int64_t> after,
                        Value scalar) {
  if (llvm::all_of(before, [](int64_t p) { return p == 0; }) &&
      llvm::all_of(after, [](int64_t p) { return p == 0; }))
    return tensor;
  Shape shape;
  for (int64_t i = 0; i < tensor.rank(); ++i)
    shape.push_back(tensor.dim(i) + before[i] + after[i]);
  if (tensor.count() == 0)
    return {filled(toStorage(scalar, tensor.element), shape), tensor.element};
  return map(tensor.element, shape, [&](ValueRange indices) {
    Value inside;
    SmallVector<Value> source;
    for (auto [d, i] : llvm::enumerate(indices)) {
      if (before[d] == 0 && after[d] == 0) {
        source.push_back(i);
        continue;
      }
      Value shifted = sub(i, index(before[d]));
      Value good = inRange(shifted, tensor.dim(d));
      inside = inside ? both(inside, good) : good;
      source.push_back(clampIndex(shifted, tensor.dim(d)));
    }
    return select(inside, load(tensor, source), scalar);
  });
}

Value Emitter::allocate(Type element, ArrayRef<int64_t> shape) {
  return make<memref::AllocOp>(MemRefType::get(shape, storageType(element)), b.getI64IntegerAttr(64));
}

Value Emitter::copyToBuffer(const Tensor &tensor) {
  Value buffer = allocate(tensor.element, tensor.shape());
  loops(tensor.shape(), [&](ValueRange i) { storeBuffer(buffer, tensor.element, load(tensor, i), i); });
  return buffer;
}

Value Emitter::loadBuffer(Value buffer, Type element, ValueRange indices) {
  return fromStorage(make<memref::LoadOp>(buffer, indices), element);
}

void Emitter::storeBuffer(Value buffer, Type element, Value scalar, ValueRange indices) {
  memref::StoreOp::create(b, loc, toStorage(scalar, element), buffer, indices);
}

Tensor Emitter::finish(Value buffer, Type element) {
  auto type = cast<MemRefType>(buffer.getType());
  return {make<bufferization::ToTensorOp>(RankedTensorType::get(type.getShape(), type.getElementType()),
                                          buffer,
                                          /*restrict=*/true, /*writable=*/false),
          element};
}

void Emitter::loop(Value count, llvm::function_ref<void(Value)> body) {
  scf::ForOp::create(b, loc, index(0), count, index(1), ValueRange(),
                     [&](OpBuilder &inner, Location, Value i, ValueRange) {
                       OpBuilder::InsertionGuard guard(b);
                       b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
                       body(i);
                       scf::YieldOp::create(b, loc);
                     });
}

void Emitter::loops(ArrayRef<int64_t> shape, llvm::function_ref<void(ValueRange)> body) {
  SmallVector<Value> indices;
  std::function<void()> nest = [&] {
    if (indices.size() == shape.size())
      return body(indices);
    loop(index(shape[indices.size()]), [&](Value i) {
      indices.push_back(i);
      nest();
      indices.pop_back();
    });
  };
  nest();
}

} // namespace tensorturbo::host
