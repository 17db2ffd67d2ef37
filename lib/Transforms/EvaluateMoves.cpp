// Evaluation of operators that move elements without looking at them.
#include "Transforms/Elements.h"
#include "Transforms/Evaluate.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cstring>

namespace tensorturbo::relay {

using llvm::ArrayRef;
using llvm::SmallVector;
using Ints = SmallVector<int64_t>;

namespace {

Ints ints(ArrayRef<int64_t> values) {
  return Ints(values);
}

Ints rowMajorStrides(ArrayRef<int64_t> shape) {
  Ints strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

int64_t product(ArrayRef<int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

/// A box of elements: dst[dstOffset + i . dstStrides] = src[srcOffset + i . srcStrides] for every index i of
/// shape.
struct Box {
  Ints shape;
  int64_t srcOffset = 0, dstOffset = 0;
  Ints srcStrides, dstStrides;
};

void copyBox(const Box &box, const uint8_t *src, uint8_t *dst, size_t size) {
  if (product(box.shape) == 0)
    return;
  if (box.shape.empty()) {
    std::memcpy(dst + box.dstOffset * size, src + box.srcOffset * size, size);
    return;
  }
  size_t last = box.shape.size() - 1;
  int64_t n = box.shape[last], from = box.srcStrides[last], to = box.dstStrides[last];
  Ints index(box.shape.size(), 0);
  int64_t s = box.srcOffset, d = box.dstOffset;
  while (true) {
    if (from == 1 && to == 1)
      std::memcpy(dst + d * size, src + s * size, n * size);
    else
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(dst + (d + i * to) * size, src + (s + i * from) * size, size);
    size_t axis = last;
    while (axis-- > 0) {
      s += box.srcStrides[axis];
      d += box.dstStrides[axis];
      if (++index[axis] < box.shape[axis])
        break;
      s -= box.srcStrides[axis] * box.shape[axis];
      d -= box.dstStrides[axis] * box.shape[axis];
      index[axis] = 0;
    }
    if (axis == size_t(-1))
      return;
  }
}

/// The whole result as one box of the source.
Constant gatherBox(const Constant &src, ArrayRef<int64_t> shape, int64_t offset, ArrayRef<int64_t> strides) {
  size_t size = dtypeSize(src.dtype);
  std::vector<uint8_t> bytes(product(shape) * size);
  Box box{Ints(shape), offset, 0, Ints(strides), rowMajorStrides(shape)};
  copyBox(box, src.data, bytes.data(), size);
  return makeConstant(src.dtype, shape, std::move(bytes));
}

Constant reshaped(const Constant &src, ArrayRef<int64_t> shape) {
  Constant out = src;
  out.shape.assign(shape.begin(), shape.end());
  out.hash = 0;
  return out;
}

Constant transposed(const Constant &src, ArrayRef<int64_t> permutation) {
  Ints strides = rowMajorStrides(src.shape), shape, from;
  for (int64_t p : permutation) {
    shape.push_back(src.shape[p]);
    from.push_back(strides[p]);
  }
  return gatherBox(src, shape, 0, from);
}

Constant broadcast(const Constant &src, ArrayRef<int64_t> shape) {
  Ints own = rowMajorStrides(src.shape), strides(shape.size(), 0);
  size_t shift = shape.size() - src.shape.size();
  for (size_t i = 0; i < src.shape.size(); ++i)
    strides[i + shift] = src.shape[i] == 1 ? 0 : own[i];
  return gatherBox(src, shape, 0, strides);
}

Constant slice(const Constant &src, ArrayRef<Slice> slices) {
  Ints own = rowMajorStrides(src.shape), shape, strides;
  int64_t offset = 0;
  for (auto [axis, s] : llvm::enumerate(slices)) {
    shape.push_back(s.size);
    strides.push_back(own[axis] * s.stride);
    offset += s.size ? own[axis] * s.begin : 0;
  }
  return gatherBox(src, shape, offset, strides);
}

Constant concatenate(ArrayRef<Constant> parts, ArrayRef<int64_t> shape, int64_t axis) {
  size_t size = dtypeSize(parts[0].dtype);
  std::vector<uint8_t> bytes(product(shape) * size);
  Ints strides = rowMajorStrides(shape);
  int64_t at = 0;
  for (const Constant &part : parts) {
    Box box{ints(part.shape), 0, at * strides[axis], rowMajorStrides(part.shape), strides};
    copyBox(box, part.data, bytes.data(), size);
    at += part.shape[axis];
  }
  return makeConstant(parts[0].dtype, shape, std::move(bytes));
}

Constant pad(const Constant &src, const Constant &value, ArrayRef<int64_t> pads, ArrayRef<int64_t> shape) {
  size_t size = dtypeSize(src.dtype);
  std::vector<uint8_t> bytes(product(shape) * size);
  for (size_t i = 0; i < bytes.size(); i += size)
    std::memcpy(bytes.data() + i, value.data, size);
  Ints strides = rowMajorStrides(shape);
  Box box{ints(src.shape), 0, 0, rowMajorStrides(src.shape), strides};
  for (size_t i = 0; i < strides.size(); ++i)
    box.dstOffset += strides[i] * pads[2 * i];
  copyBox(box, src.data, bytes.data(), size);
  return makeConstant(src.dtype, shape, std::move(bytes));
}

/// take along an axis: [outer, n, inner] at the indices gives [outer, indices, inner]. Indices are clipped or
/// wrapped.
std::optional<Constant> take(const Constant &src, const Constant &indices, int64_t outer, int64_t n,
                             int64_t inner, llvm::StringRef mode, ArrayRef<int64_t> shape) {
  if (n == 0)
    return std::nullopt;
  size_t size = dtypeSize(src.dtype), block = inner * size;
  std::vector<int64_t> at = loadInts(indices);
  std::vector<uint8_t> bytes(product(shape) * size);
  uint8_t *dst = bytes.data();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i : at) {
      i = mode == "wrap" ? ((i % n) + n) % n
                         : std::clamp<int64_t>(i < 0 && mode == "fast" ? i + n : i, 0, n - 1);
      std::memcpy(dst, src.data + (o * n + i) * block, block);
      dst += block;
    }
  return makeConstant(src.dtype, shape, std::move(bytes));
}

std::optional<Constant> gather(const Constant &src, const Constant &indices, int64_t axis) {
  size_t size = dtypeSize(src.dtype);
  int64_t n = src.shape[axis];
  Ints from = rowMajorStrides(src.shape), shape = ints(indices.shape);
  std::vector<int64_t> at = loadInts(indices);
  std::vector<uint8_t> bytes(at.size() * size);
  Ints strides = rowMajorStrides(shape);
  for (size_t k = 0; k < at.size(); ++k) {
    int64_t offset = 0, rest = k;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t i = rest / strides[d];
      rest %= strides[d];
      if (static_cast<int64_t>(d) == axis) {
        i = at[k] < 0 ? at[k] + n : at[k];
        // An index out of range has no value to fold to.
        if (i < 0 || i >= n)
          return std::nullopt;
      }
      offset += i * from[d];
    }
    std::memcpy(bytes.data() + k * size, src.data + offset * size, size);
  }
  return makeConstant(src.dtype, shape, std::move(bytes));
}

/// Every dimension d followed by a factor r, or preceded by it, with stride 0: repeat and tile.
Constant repeated(const Constant &src, ArrayRef<int64_t> source, ArrayRef<int64_t> factors, bool before,
                  ArrayRef<int64_t> shape) {
  Ints own = rowMajorStrides(source), box, strides;
  for (size_t i = 0; i < source.size(); ++i) {
    if (before) {
      box.push_back(factors[i]);
      strides.push_back(0);
    }
    box.push_back(source[i]);
    strides.push_back(own[i]);
    if (!before) {
      box.push_back(factors[i]);
      strides.push_back(0);
    }
  }
  return reshaped(gatherBox(src, box, 0, strides), shape);
}

} // namespace

Constant makeConstant(DType type, ArrayRef<int64_t> shape, std::vector<uint8_t> bytes) {
  Constant c;
  c.dtype = type;
  c.shape.assign(shape.begin(), shape.end());
  c.bytes = bytes.size();
  auto buffer = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  c.data = buffer->data();
  c.owner = buffer;
  return c;
}

std::optional<std::vector<Constant>> evaluateMove(mlir::Operation *operation, ArrayRef<Constant> in) {
  using Result = std::optional<std::vector<Constant>>;
  auto one = [](Constant c) { return Result(std::vector<Constant>{std::move(c)}); };
  Ints shape(operation->getNumResults() ? shapeOf(operation->getResult(0)) : ArrayRef<int64_t>());
  auto rank = [&](size_t i) { return static_cast<int64_t>(in[i].shape.size()); };
  return llvm::TypeSwitch<mlir::Operation *, Result>(operation)
      .Case<ReshapeOp, SqueezeOp, ExpandDimsOp, BatchFlattenOp, CopyOp>(
          [&](auto) { return one(reshaped(in[0], shape)); })
      .Case([&](TransposeOp op) {
        Ints p;
        for (int64_t i = 0; i < rank(0); ++i)
          p.push_back(op.getAxes() ? normalizeAxis((*op.getAxes())[i], rank(0)) : rank(0) - 1 - i);
        return one(transposed(in[0], p));
      })
      .Case([&](LayoutTransformOp op) {
        return one(transposed(in[0], layoutPermutation(op.getSrcLayout(), op.getDstLayout())));
      })
      .Case<BroadcastToOp, FullOp>([&](auto op) -> Result {
        if (in[0].dtype != dtypeOf(elementType(op.getResult())))
          return std::nullopt;
        Constant src = in[0];
        if (llvm::isa<FullOp>(op.getOperation()))
          src.shape.clear();
        return one(broadcast(src, shape));
      })
      .Case([&](ReverseOp op) {
        SmallVector<Slice> slices;
        for (int64_t d : in[0].shape)
          slices.push_back({0, d, 1});
        Slice &s = slices[normalizeAxis(op.getAxis(), rank(0))];
        s = {s.size - 1, s.size, -1};
        return one(slice(in[0], slices));
      })
      .Case([&](StridedSliceOp op) -> Result {
        auto slices = resolveSlices(in[0].shape, op.getBegin(), op.getEnd(), op.getStrides(),
                                    op.getSliceMode(), op.getAxes());
        if (!slices)
          return std::nullopt;
        return one(slice(in[0], *slices));
      })
      .Case([&](SplitOp op) {
        int64_t axis = normalizeAxis(op.getAxis(), rank(0)), at = 0;
        std::vector<Constant> out;
        for (mlir::Value result : op.getResults()) {
          SmallVector<Slice> slices;
          for (int64_t d : in[0].shape)
            slices.push_back({0, d, 1});
          slices[axis] = {at, shapeOf(result)[axis], 1};
          at += shapeOf(result)[axis];
          out.push_back(slice(in[0], slices));
        }
        return Result(std::move(out));
      })
      .Case([&](ConcatenateOp op) {
        return one(concatenate(in, shape, normalizeAxis(op.getAxis(), shape.size())));
      })
      .Case([&](StackOp op) {
        int64_t axis = normalizeAxis(op.getAxis(), shape.size());
        std::vector<Constant> parts;
        for (const Constant &c : in) {
          Ints with = ints(c.shape);
          with.insert(with.begin() + axis, 1);
          parts.push_back(reshaped(c, with));
        }
        return one(concatenate(parts, shape, axis));
      })
      .Case([&](PadOp op) -> Result {
        if (op.getPadMode() != "constant")
          return std::nullopt;
        return one(pad(in[0], in[1], op.getPadWidth(), shape));
      })
      .Case([&](TileOp op) {
        Ints source = ints(in[0].shape), factors(op.getReps());
        while (source.size() < factors.size())
          source.insert(source.begin(), 1);
        while (factors.size() < source.size())
          factors.insert(factors.begin(), 1);
        return one(repeated(in[0], source, factors, true, shape));
      })
      .Case([&](RepeatOp op) {
        Ints source = ints(in[0].shape);
        if (!op.getAxis())
          source = {in[0].elements()};
        Ints factors(source.size(), 1);
        factors[op.getAxis() ? normalizeAxis(*op.getAxis(), rank(0)) : 0] = op.getRepeats();
        return one(repeated(in[0], source, factors, false, shape));
      })
      .Case([&](TakeOp op) -> Result {
        if (op.getBatchDims() != 0)
          return std::nullopt;
        ArrayRef<int64_t> src(in[0].shape);
        int64_t axis = op.getAxis() ? normalizeAxis(*op.getAxis(), rank(0)) : 0;
        bool flat = !op.getAxis();
        auto out =
            take(in[0], in[1], flat ? 1 : product(src.take_front(axis)), flat ? product(src) : src[axis],
                 flat ? 1 : product(src.drop_front(axis + 1)), op.getMode(), shape);
        if (!out)
          return std::nullopt;
        return one(std::move(*out));
      })
      .Case([&](GatherOp op) -> Result {
        auto out = gather(in[0], in[1], normalizeAxis(op.getAxis(), rank(0)));
        if (!out)
          return std::nullopt;
        return one(std::move(*out));
      })
      .Default([](mlir::Operation *) { return std::nullopt; });
}

} // namespace tensorturbo::relay
