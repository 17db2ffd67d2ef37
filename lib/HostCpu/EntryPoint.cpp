#include "HostCpu/Internal.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tensorturbo::host {
namespace {

/// Pointer twice, offset, extents, strides.
Type descriptorType(OpBuilder &b, int64_t rank) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  SmallVector<Type> fields = {pointer, pointer, i64};
  if (rank > 0)
    fields.append(2, LLVM::LLVMArrayType::get(i64, rank));
  return LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
}

} // namespace

Value denseBuffer(OpBuilder &b, Location loc, Value pointer, MemRefType type) {
  Type i64 = b.getI64Type();
  int64_t rank = type.getRank();
  Value descriptor = LLVM::UndefOp::create(b, loc, descriptorType(b, rank));
  auto set = [&](Value value, ArrayRef<int64_t> position) {
    descriptor = LLVM::InsertValueOp::create(b, loc, descriptor, value, position);
  };
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(value));
  };
  set(pointer, {0});
  set(pointer, {1});
  set(constant(0), {2});
  int64_t stride = 1;
  for (int64_t d = rank; d-- > 0;) {
    set(constant(type.getDimSize(d)), {3, d});
    set(constant(stride), {4, d});
    stride *= type.getDimSize(d);
  }
  return UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0);
}

Value pointerOf(OpBuilder &b, Location loc, Value buffer) {
  Type type = descriptorType(b, cast<MemRefType>(buffer.getType()).getRank());
  Value descriptor = UnrealizedConversionCastOp::create(b, loc, type, buffer).getResult(0);
  return LLVM::ExtractValueOp::create(b, loc, descriptor, ArrayRef<int64_t>{1});
}

void makeEntryPoint(func::FuncOp func) {
  Block &entry = func.getBody().front();
  Location loc = func.getLoc();
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  Type pointerType = LLVM::LLVMPointerType::get(b.getContext());
  unsigned inputs = func.getNumArguments();
  Value buffers = entry.insertArgument(0u, pointerType, loc);

  auto bufferAt = [&](unsigned index, Type tensorType) {
    auto type = cast<RankedTensorType>(tensorType);
    Value address =
        LLVM::GEPOp::create(b, loc, pointerType, pointerType, buffers, {LLVM::GEPArg(int32_t(index))});
    Value pointer = LLVM::LoadOp::create(b, loc, pointerType, address);
    return denseBuffer(b, loc, pointer, MemRefType::get(type.getShape(), type.getElementType()));
  };
  for (unsigned i = 0; i < inputs; ++i) {
    Value argument = entry.getArgument(i + 1);
    Value buffer = bufferAt(i, argument.getType());
    argument.replaceAllUsesWith(bufferization::ToTensorOp::create(b, loc, argument.getType(), buffer,
                                                                  /*restrict=*/true, /*writable=*/false));
  }
  SmallVector<Value> outputs;
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    outputs.push_back(bufferAt(inputs + i, type));
  entry.eraseArguments(1, inputs);

  Operation *terminator = entry.getTerminator();
  b.setInsertionPoint(terminator);
  for (auto [result, output] : llvm::zip_equal(terminator->getOperands(), outputs)) {
    auto write = bufferization::MaterializeInDestinationOp::create(b, loc, result, output);
    write.setRestrict(true);
    write.setWritable(true);
  }
  terminator->setOperands(ValueRange());
  func.setArgAttrsAttr(nullptr);
  func.setResAttrsAttr(nullptr);
  func.setFunctionType(b.getFunctionType({pointerType}, {}));
  func.setName(("tt_" + func.getName()).str());
}

} // namespace tensorturbo::host
