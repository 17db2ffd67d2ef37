// RV32F and RV32D: arithmetic, conversions, comparisons, moves. Loads and stores are in LoadStore.cpp.
#include "simulator/Decode.h"
#include "simulator/SoftFloat.h"
#include <cmath>
#include <cstring>

namespace tensorturbo::sim {

namespace {

using soft::Context;
using soft::Double;
using soft::Single;

template <class F> typename F::bits get(const Hart &h, unsigned reg) {
  if constexpr (sizeof(typename F::bits) == 4)
    return unbox(h.f[reg]);
  else
    return h.f[reg];
}
template <class F> void set(Hart &h, unsigned reg, typename F::bits value) {
  if constexpr (sizeof(typename F::bits) == 4)
    h.f[reg] = box(value);
  else
    h.f[reg] = value;
}

unsigned rs3(const Decoded &d) {
  return static_cast<uint32_t>(d.immediate) >> 27;
}

/// The rounding mode of an instruction, 5 or more if it is reserved.
uint32_t roundingOf(const Hart &h, const Decoded &d) {
  uint32_t mode = static_cast<uint32_t>(d.immediate) >> 12 & 7;
  return mode == 7 ? h.frm : mode;
}

template <class F> struct HostType;
template <> struct HostType<Single> {
  using type = float;
};
template <> struct HostType<Double> {
  using type = double;
};

template <class F> typename HostType<F>::type toHost(typename F::bits a) {
  typename HostType<F>::type value;
  std::memcpy(&value, &a, sizeof a);
  return value;
}

/// Whether the host's result may stand: round-to-nearest-even with the inexact flag already set, and a result
/// so ordinary that no other flag can be due.
template <class F> bool ordinary(typename HostType<F>::type value, typename F::bits &result) {
  std::memcpy(&result, &value, sizeof result);
  auto exponent = result >> F::fractionBits & F::maxExponent;
  return exponent > 1 && exponent < F::maxExponent;
}
bool hostMayRound(const Hart &h, uint32_t rounding) {
  return rounding == soft::NearestEven && (h.fflags & soft::Inexact);
}

struct Add {
  template <class T> static T host(T a, T b) { return a + b; }
  template <class F> static typename F::bits exact(typename F::bits a, typename F::bits b, Context &c) {
    return soft::add<F>(a, b, c);
  }
};
struct Sub {
  template <class T> static T host(T a, T b) { return a - b; }
  template <class F> static typename F::bits exact(typename F::bits a, typename F::bits b, Context &c) {
    return soft::add<F>(a, soft::isNan<F>(b) ? b : b ^ F::signBit, c);
  }
};
struct Mul {
  template <class T> static T host(T a, T b) { return a * b; }
  template <class F> static typename F::bits exact(typename F::bits a, typename F::bits b, Context &c) {
    return soft::multiply<F>(a, b, c);
  }
};
struct Div {
  template <class T> static T host(T a, T b) { return a / b; }
  template <class F> static typename F::bits exact(typename F::bits a, typename F::bits b, Context &c) {
    return soft::divide<F>(a, b, c);
  }
};

template <class F, class Op> Step binary(Hart &h, const Decoded &d) {
  uint32_t rounding = roundingOf(h, d);
  if (!h.fpEnabled || rounding > soft::NearestAway)
    return h.raiseIllegal();
  auto a = get<F>(h, d.rs1), b = get<F>(h, d.rs2);
  typename F::bits result;
  if (!hostMayRound(h, rounding) || !ordinary<F>(Op::host(toHost<F>(a), toHost<F>(b)), result)) {
    Context context{rounding};
    result = Op::template exact<F>(a, b, context);
    h.fflags |= context.flags;
  }
  set<F>(h, d.rd, result);
  return Step::Next;
}

template <class F> Step squareRoot(Hart &h, const Decoded &d) {
  uint32_t rounding = roundingOf(h, d);
  if (!h.fpEnabled || rounding > soft::NearestAway)
    return h.raiseIllegal();
  auto a = get<F>(h, d.rs1);
  typename F::bits result;
  if (!hostMayRound(h, rounding) || !ordinary<F>(std::sqrt(toHost<F>(a)), result)) {
    Context context{rounding};
    result = soft::squareRoot<F>(a, context);
    h.fflags |= context.flags;
  }
  set<F>(h, d.rd, result);
  return Step::Next;
}

/// +-(a * b) +- c.
template <class F, bool negateProduct, bool negateAddend> Step fused(Hart &h, const Decoded &d) {
  uint32_t rounding = roundingOf(h, d);
  if (!h.fpEnabled || rounding > soft::NearestAway)
    return h.raiseIllegal();
  auto a = get<F>(h, d.rs1), b = get<F>(h, d.rs2), c = get<F>(h, rs3(d));
  if (negateProduct && !soft::isNan<F>(a))
    a ^= F::signBit;
  if (negateAddend && !soft::isNan<F>(c))
    c ^= F::signBit;
  typename F::bits result;
  if (!hostMayRound(h, rounding) ||
      !ordinary<F>(std::fma(toHost<F>(a), toHost<F>(b), toHost<F>(c)), result)) {
    Context context{rounding};
    result = soft::fusedMultiplyAdd<F>(a, b, c, context);
    h.fflags |= context.flags;
  }
  set<F>(h, d.rd, result);
  return Step::Next;
}

enum class SignOp { Copy, Negate, Xor };
template <class F, SignOp op> Step signInjection(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  auto a = get<F>(h, d.rs1), sign = get<F>(h, d.rs2);
  if (op == SignOp::Negate)
    sign = ~sign;
  if (op == SignOp::Xor)
    sign ^= a;
  set<F>(h, d.rd, (a & ~F::signBit) | (sign & F::signBit));
  return Step::Next;
}

template <class F, typename F::bits (*select)(typename F::bits, typename F::bits, Context &)>
Step minMax(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  Context context;
  set<F>(h, d.rd, select(get<F>(h, d.rs1), get<F>(h, d.rs2), context));
  h.fflags |= context.flags;
  return Step::Next;
}

template <class F, bool (*holds)(typename F::bits, typename F::bits, Context &)>
Step compare(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  Context context;
  h.x[d.rd] = holds(get<F>(h, d.rs1), get<F>(h, d.rs2), context);
  h.fflags |= context.flags;
  return Step::Next;
}

template <class F> Step classify(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  h.x[d.rd] = soft::classify<F>(get<F>(h, d.rs1));
  return Step::Next;
}

template <class F, bool isSigned> Step toInteger(Hart &h, const Decoded &d) {
  Context context{roundingOf(h, d)};
  if (!h.fpEnabled || context.rounding > soft::NearestAway)
    return h.raiseIllegal();
  auto a = get<F>(h, d.rs1);
  h.x[d.rd] = isSigned ? static_cast<uint32_t>(soft::toInt32<F>(a, context)) : soft::toUint32<F>(a, context);
  h.fflags |= context.flags;
  return Step::Next;
}

template <class F, bool isSigned> Step fromInteger(Hart &h, const Decoded &d) {
  Context context{roundingOf(h, d)};
  if (!h.fpEnabled || context.rounding > soft::NearestAway)
    return h.raiseIllegal();
  uint32_t a = h.x[d.rs1];
  set<F>(h, d.rd,
         isSigned ? soft::fromInt32<F>(static_cast<int32_t>(a), context) : soft::fromUint32<F>(a, context));
  h.fflags |= context.flags;
  return Step::Next;
}

Step widen(Hart &h, const Decoded &d) {
  Context context;
  if (!h.fpEnabled || roundingOf(h, d) > soft::NearestAway)
    return h.raiseIllegal();
  h.f[d.rd] = soft::singleToDouble(get<Single>(h, d.rs1), context);
  h.fflags |= context.flags;
  return Step::Next;
}
Step narrow(Hart &h, const Decoded &d) {
  Context context{roundingOf(h, d)};
  if (!h.fpEnabled || context.rounding > soft::NearestAway)
    return h.raiseIllegal();
  h.f[d.rd] = box(soft::doubleToSingle(h.f[d.rs1], context));
  h.fflags |= context.flags;
  return Step::Next;
}

// The moves copy bits, boxed or not.
Step moveToInteger(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  h.x[d.rd] = static_cast<uint32_t>(h.f[d.rs1]);
  return Step::Next;
}
Step moveFromInteger(Hart &h, const Decoded &d) {
  if (!h.fpEnabled)
    return h.raiseIllegal();
  h.f[d.rd] = box(h.x[d.rs1]);
  return Step::Next;
}

template <class F> Handler arithmetic(uint32_t word, const Decoded &d) {
  uint32_t funct3 = word >> 12 & 7;
  auto pick = [&](Handler zero, Handler one, Handler two) {
    return funct3 == 0 ? zero : funct3 == 1 ? one : funct3 == 2 ? two : nullptr;
  };
  switch (word >> 27) {
  case 0x00:
    return binary<F, Add>;
  case 0x01:
    return binary<F, Sub>;
  case 0x02:
    return binary<F, Mul>;
  case 0x03:
    return binary<F, Div>;
  case 0x0B:
    return d.rs2 == 0 ? squareRoot<F> : nullptr;
  case 0x04:
    return pick(signInjection<F, SignOp::Copy>, signInjection<F, SignOp::Negate>,
                signInjection<F, SignOp::Xor>);
  case 0x05:
    return pick(minMax<F, soft::minimum<F>>, minMax<F, soft::maximum<F>>, nullptr);
  case 0x14:
    return pick(compare<F, soft::lessOrEqual<F>>, compare<F, soft::less<F>>, compare<F, soft::equal<F>>);
  case 0x18:
    return d.rs2 == 0 ? toInteger<F, true> : d.rs2 == 1 ? toInteger<F, false> : nullptr;
  case 0x1A:
    return d.rs2 == 0 ? fromInteger<F, true> : d.rs2 == 1 ? fromInteger<F, false> : nullptr;
  case 0x1C:
    if (d.rs2 != 0)
      return nullptr;
    return funct3 == 1 ? classify<F> : funct3 == 0 && sizeof(typename F::bits) == 4 ? moveToInteger : nullptr;
  case 0x1E:
    return d.rs2 == 0 && funct3 == 0 && sizeof(typename F::bits) == 4 ? moveFromInteger : nullptr;
  default:
    return nullptr;
  }
}

template <class F> Handler fusedForm(uint32_t opcode) {
  switch (opcode) {
  case 0x43:
    return fused<F, false, false>; // fmadd
  case 0x47:
    return fused<F, false, true>; // fmsub
  case 0x4B:
    return fused<F, true, false>; // fnmsub: -(a * b) + c
  default:
    return fused<F, true, true>; // fnmadd: -(a * b) - c
  }
}

} // namespace

bool decodeFloat(uint32_t word, Decoded &d) {
  uint32_t opcode = word & 0x7F, format = word >> 25 & 3, function = word >> 27;
  d.execute = nullptr;
  if (format > 1)
    return false;
  if (opcode != 0x53)
    d.execute = format ? fusedForm<Double>(opcode) : fusedForm<Single>(opcode);
  else if (function == 0x08) // conversion between the formats
    d.execute = format == 0 && d.rs2 == 1 ? narrow : format == 1 && d.rs2 == 0 ? widen : nullptr;
  else
    d.execute = format ? arithmetic<Double>(word, d) : arithmetic<Single>(word, d);
  return d.execute != nullptr;
}

} // namespace tensorturbo::sim
