// Helpers for users of the dialect: types, node names, constants, checked construction.
#include "Dialect/Relay/RelayCore.h"
#include "Dialect/Relay/RelayDialect.h"
#include "Support/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>

namespace tensorturbo::relay {

bool isRelayTensor(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && !tensor.getEncoding() && dtypeOf(tensor.getElementType());
}

bool isDTypeName(mlir::StringAttr name) {
  return name && (name.empty() || dtypeFromName({name.getValue().data(), name.getValue().size()}));
}

bool isIntOrInts(mlir::Attribute attribute) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute))
    return integer.getType().isSignlessInteger(64);
  return llvm::isa<mlir::DenseI64ArrayAttr>(attribute);
}

mlir::Type elementTypeFor(mlir::MLIRContext *c, DType type) {
  auto integer = [&](unsigned bits) { return mlir::IntegerType::get(c, bits); };
  auto unsignedInteger = [&](unsigned bits) {
    return mlir::IntegerType::get(c, bits, mlir::IntegerType::Unsigned);
  };
  switch (type) {
  case DType::Bool:
    return integer(1);
  case DType::Int8:
    return integer(8);
  case DType::Int16:
    return integer(16);
  case DType::Int32:
    return integer(32);
  case DType::Int64:
    return integer(64);
  case DType::UInt8:
    return unsignedInteger(8);
  case DType::UInt16:
    return unsignedInteger(16);
  case DType::UInt32:
    return unsignedInteger(32);
  case DType::UInt64:
    return unsignedInteger(64);
  case DType::Float16:
    return mlir::Float16Type::get(c);
  case DType::BFloat16:
    return mlir::BFloat16Type::get(c);
  case DType::Float32:
    return mlir::Float32Type::get(c);
  case DType::Float64:
    return mlir::Float64Type::get(c);
  }
  return {};
}

std::optional<DType> dtypeOf(mlir::Type type) {
  if (type.isF16())
    return DType::Float16;
  if (type.isBF16())
    return DType::BFloat16;
  if (type.isF32())
    return DType::Float32;
  if (type.isF64())
    return DType::Float64;
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  if (!integer || integer.isSigned())
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return isUnsigned ? std::nullopt : std::optional(DType::Bool);
  case 8:
    return isUnsigned ? DType::UInt8 : DType::Int8;
  case 16:
    return isUnsigned ? DType::UInt16 : DType::Int16;
  case 32:
    return isUnsigned ? DType::UInt32 : DType::Int32;
  case 64:
    return isUnsigned ? DType::UInt64 : DType::Int64;
  default:
    return std::nullopt;
  }
}

mlir::RankedTensorType tensorTypeFor(mlir::MLIRContext *context, DType type, llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(shape, elementTypeFor(context, type));
}

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

mlir::Type elementType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

std::vector<std::string> nodeNames(mlir::Location location) {
  llvm::SetVector<mlir::StringAttr> names;
  location->walk([&](mlir::Location l) {
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(l))
      names.insert(name.getName());
    return mlir::WalkResult::advance();
  });
  std::vector<std::string> out;
  for (mlir::StringAttr n : names)
    out.push_back(n.str());
  return out;
}

std::string nodeName(mlir::Location location) {
  std::string out;
  for (const std::string &n : nodeNames(location))
    out += (out.empty() ? "" : "+") + n;
  return out;
}

/// Dense elements as plain bytes: a view where they are stored so, a copy for splats and bool.
static std::optional<Constant> denseConstant(mlir::DenseElementsAttr dense) {
  auto type = dtypeOf(dense.getElementType());
  if (!type)
    return std::nullopt;
  Constant c;
  c.dtype = *type;
  c.shape.assign(dense.getType().getShape().begin(), dense.getType().getShape().end());
  size_t size = dtypeSize(*type), n = dense.getNumElements();
  c.bytes = n * size;
  if (*type != DType::Bool && !dense.isSplat()) {
    c.data = reinterpret_cast<const uint8_t *>(dense.getRawData().data());
    return c;
  }
  auto buffer = std::make_shared<std::vector<uint8_t>>(c.bytes);
  if (*type == DType::Bool) {
    size_t i = 0;
    for (bool b : dense.getValues<bool>())
      (*buffer)[i++] = b;
  } else {
    for (size_t i = 0; i < n; ++i)
      std::memcpy(buffer->data() + i * size, dense.getRawData().data(), size);
  }
  c.data = buffer->data();
  c.owner = buffer;
  return c;
}

std::optional<Constant> constantOf(mlir::Attribute attribute) {
  if (auto dense = llvm::dyn_cast_if_present<mlir::DenseElementsAttr>(attribute))
    return denseConstant(dense);
  auto stored = llvm::dyn_cast_if_present<ConstAttr>(attribute);
  if (!stored)
    return std::nullopt;
  auto *dialect = attribute.getContext()->getLoadedDialect<RelayDialect>();
  Constant c = dialect->getConstants()->get(stored.getId());
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(stored.getType());
  // The IR may come from a text file: it only counts if it agrees with the store.
  bool known = c.data || (c.bytes == 0 && !c.shape.empty());
  if (!known || c.hash != stored.getHash() || !type || type.getShape() != llvm::ArrayRef<int64_t>(c.shape) ||
      dtypeOf(type.getElementType()) != c.dtype)
    return std::nullopt;
  return c;
}

std::optional<Constant> constantOf(mlir::Value value) {
  auto op = value ? value.getDefiningOp<ConstantOp>() : nullptr;
  return op ? constantOf(op.getValueAttr()) : std::nullopt;
}

template <typename T> static double load(const uint8_t *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<double>(value);
}

static double loadFloat(const uint8_t *data, const llvm::fltSemantics &semantics) {
  uint16_t bits;
  std::memcpy(&bits, data, sizeof bits);
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool lost;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

std::optional<double> scalarOf(mlir::Value value) {
  auto c = constantOf(value);
  if (!c || c->elements() != 1)
    return std::nullopt;
  switch (c->dtype) {
  case DType::Bool:
  case DType::UInt8:
    return load<uint8_t>(c->data);
  case DType::Int8:
    return load<int8_t>(c->data);
  case DType::Int16:
    return load<int16_t>(c->data);
  case DType::Int32:
    return load<int32_t>(c->data);
  case DType::Int64:
    return load<int64_t>(c->data);
  case DType::UInt16:
    return load<uint16_t>(c->data);
  case DType::UInt32:
    return load<uint32_t>(c->data);
  case DType::UInt64:
    return load<uint64_t>(c->data);
  case DType::Float16:
    return loadFloat(c->data, llvm::APFloat::IEEEhalf());
  case DType::BFloat16:
    return loadFloat(c->data, llvm::APFloat::BFloat());
  case DType::Float32:
    return load<float>(c->data);
  case DType::Float64:
    return load<double>(c->data);
  }
  return std::nullopt;
}

/// Constants up to this size live in the IR, where they can be read; larger ones in the store.
constexpr size_t inlineBytes = 256;

static mlir::DenseElementsAttr inlineConstant(mlir::RankedTensorType type, const uint8_t *data,
                                              size_t bytes) {
  if (!type.getElementType().isInteger(1))
    return mlir::DenseElementsAttr::getFromRawBuffer(
        type, llvm::ArrayRef<char>(reinterpret_cast<const char *>(data), bytes));
  llvm::SmallVector<bool> flags(data, data + bytes);
  return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(flags));
}

/// `id` adds the data to the store; only called for constants that do not live in the IR.
static mlir::Value makeConstantOp(mlir::OpBuilder &builder, mlir::Location location, DType type,
                                  llvm::ArrayRef<int64_t> shape, const uint8_t *data, size_t bytes,
                                  llvm::function_ref<uint64_t(ConstantStore &)> id) {
  auto *context = builder.getContext();
  auto tensor = tensorTypeFor(context, type, shape);
  mlir::TypedAttr value;
  if (bytes > 0 && bytes <= inlineBytes) {
    value = inlineConstant(tensor, data, bytes);
  } else {
    ConstantStore &store = *context->getOrLoadDialect<RelayDialect>()->getConstants();
    uint64_t number = id(store);
    value = ConstAttr::get(context, tensor, number, store.get(number).hash);
  }
  return ConstantOp::create(builder, location, tensor, value);
}

mlir::Value createConstant(mlir::OpBuilder &builder, mlir::Location location, DType type,
                           llvm::ArrayRef<int64_t> shape, std::vector<uint8_t> bytes) {
  return makeConstantOp(builder, location, type, shape, bytes.data(), bytes.size(),
                        [&](ConstantStore &s) { return s.add(type, shape.vec(), std::move(bytes)); });
}

mlir::Value createConstant(mlir::OpBuilder &builder, mlir::Location location, const Constant &c) {
  return makeConstantOp(builder, location, c.dtype, c.shape, c.data, c.bytes,
                        [&](ConstantStore &s) { return s.addView(c.dtype, c.shape, c.data, c.owner); });
}

mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location location, mlir::Type type, double value) {
  auto tensor = mlir::RankedTensorType::get({}, type);
  mlir::Attribute element;
  if (llvm::isa<mlir::FloatType>(type))
    element = mlir::FloatAttr::get(type, value);
  else
    element = mlir::IntegerAttr::get(
        type, llvm::APInt(type.getIntOrFloatBitWidth(), static_cast<int64_t>(value), true, true));
  auto dense = mlir::DenseElementsAttr::get(tensor, element);
  return ConstantOp::create(builder, location, tensor, llvm::cast<mlir::TypedAttr>(dense));
}

mlir::FailureOr<mlir::Operation *> createOp(mlir::OpBuilder &builder, mlir::Location location,
                                            llvm::StringRef name, mlir::ValueRange operands,
                                            llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::MLIRContext *context = builder.getContext();
  context->getOrLoadDialect<RelayDialect>();
  std::string fullName = ("relay." + name).str();
  auto info = mlir::RegisteredOperationName::lookup(fullName, context);
  auto *interface = info ? info->getInterface<mlir::InferTypeOpInterface>() : nullptr;
  if (!interface) {
    mlir::emitError(location) << "relay has no operator " << quoteForMessage({name.data(), name.size()});
    return mlir::failure();
  }
  for (const mlir::NamedAttribute &a : attributes)
    if (!llvm::is_contained(info->getAttributeNames(), a.getName()) && !a.getName().strref().contains('.')) {
      mlir::emitError(location) << "'" << fullName << "' op has no attribute '" << a.getName() << "'";
      return mlir::failure();
    }

  mlir::OperationState state(location, *info);
  state.addOperands(operands);
  // Inherent attributes live in the properties; they are set first because inference reads them.
  std::vector<char> storage(info->getOpPropertyByteSize() + alignof(std::max_align_t));
  mlir::OpaqueProperties properties(nullptr);
  auto dictionary = builder.getDictionaryAttr(attributes);
  bool owned = info->getOpPropertyByteSize() > 0;
  if (owned) {
    void *raw = storage.data();
    size_t space = storage.size();
    raw = std::align(alignof(std::max_align_t), info->getOpPropertyByteSize(), raw, space);
    properties = mlir::OpaqueProperties(raw);
    info->initOpProperties(properties, mlir::OpaqueProperties(nullptr));
  }
  auto emit = [&] { return mlir::emitError(location) << "'" << fullName << "' op "; };
  bool ok =
      !owned || mlir::succeeded(info->setOpPropertiesFromAttribute(*info, properties, dictionary, emit));
  if (ok && owned)
    info->populateDefaultProperties(properties);
  llvm::SmallVector<mlir::Type> types;
  ok = ok && mlir::succeeded(interface->inferReturnTypes(context, location, operands, dictionary, properties,
                                                         mlir::RegionRange(), types));
  if (owned)
    info->destroyOpProperties(properties);
  if (!ok)
    return mlir::failure();
  state.addTypes(types);
  state.addAttributes(attributes);
  return builder.create(state);
}

} // namespace tensorturbo::relay
