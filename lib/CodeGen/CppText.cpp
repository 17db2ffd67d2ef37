#include "CodeGen/CppText.h"
#include "Target/Target.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tensorturbo::codegen {
namespace {

/// Registers and descriptor buffer of a system-DMA controller.
constexpr uint32_t systemDmaBytes = 0x2000;

/// A named piece of memory, from the attribute npu.buffers of a kernel.
struct NamedBuffer {
  std::string name;
  uint32_t address, bytes;
};

/// Prints one function.
class FunctionPrinter {
public:
  FunctionPrinter(llvm::raw_ostream &out, func::FuncOp function) : out(out), function(function) {}

  /// An op that could not be printed, or null.
  Operation *print() {
    printSignature();
    out << " {\n";
    collectBuffers();
    printBlock(function.getBody().front(), {});
    out << "}\n";
    return failure;
  }
  void printSignature() {
    out << "extern \"C\" " << typeName(function.getResultTypes()) << ' ' << function.getName() << '(';
    bool declared = function.isExternal();
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      out << (index ? ", " : "") << typeName(type) << ' '
          << (declared ? "" : name(function.getArgument(unsigned(index))));
    out << ')';
  }

private:
  static const char *typeName(Type type) {
    return type.isF32() ? "float" : type.isInteger(1) ? "bool" : "u32";
  }
  static const char *typeName(TypeRange results) { return results.empty() ? "void" : typeName(results[0]); }

  raw_ostream &line() { return out.indent(2 * depth); }
  std::string name(Value value) {
    auto [it, isNew] = names.insert({value, ""});
    if (isNew)
      it->second = (isa<BlockArgument>(value) ? "i" : "v") + std::to_string(names.size());
    return it->second;
  }

  //===-- values
  //-----------------------------------------------------------------------------------------===//

  /// Buffers that share no byte with another one of the kernel; only these names say what an address is.
  void collectBuffers() {
    std::vector<NamedBuffer> all;
    auto list = function->getAttrOfType<ArrayAttr>("npu.buffers");
    for (Attribute attribute : list ? list.getValue() : ArrayRef<Attribute>()) {
      auto entry = dyn_cast<DictionaryAttr>(attribute);
      auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
      auto address = entry ? entry.getAs<IntegerAttr>("address") : IntegerAttr();
      auto bytes = entry ? entry.getAs<IntegerAttr>("bytes") : IntegerAttr();
      if (name && address && bytes)
        all.push_back({identifier(name), uint32_t(address.getInt()), uint32_t(bytes.getInt())});
    }
    llvm::sort(all, [](const NamedBuffer &a, const NamedBuffer &b) { return a.address < b.address; });
    llvm::StringSet<> taken;
    depth = 1;
    for (size_t i = 0; i < all.size(); ++i) {
      bool shared = false;
      for (size_t k = 0; k < all.size() && !shared; ++k)
        shared = k != i && all[i].address - all[k].address < all[k].bytes;
      for (size_t k = 0; k < all.size() && !shared; ++k)
        shared = k != i && all[k].address - all[i].address < all[i].bytes;
      if (shared || !taken.insert(all[i].name).second)
        continue;
      buffers.push_back(all[i]);
      line() << "[[maybe_unused]] constexpr u32 " << all[i].name << " = "
             << address(all[i].address, /*useBuffers=*/false) << "; // " << all[i].bytes << " bytes\n";
    }
    depth = 0;
  }
  static std::string identifier(StringRef text) {
    std::string result = "m_" + text.str();
    for (char &c : result)
      if (!isalnum(static_cast<unsigned char>(c)))
        c = '_';
    return result;
  }
  /// A constant address in the terms of the memory map.
  std::string address(uint32_t value, bool useBuffers = true) {
    auto plus = [](const std::string &base, uint32_t offset) {
      return offset ? base + " + " + std::to_string(offset) : base;
    };
    for (const NamedBuffer &buffer : buffers)
      if (useBuffers && value - buffer.address < buffer.bytes)
        return plus(buffer.name, value - buffer.address);
    const target::Target &chip = target::p920();
    for (const target::MemoryRegion *region : {&chip.l1(), &chip.im(), &chip.llb()})
      if (region->contains(value))
        return plus(region->name, value - region->base);
    if (uint32_t offset = value - *chip.address("sysdma0"); offset < systemDmaBytes)
      return "SYSDMA + 0x" + llvm::utohexstr(offset);
    return number(value);
  }
  static std::string number(uint32_t bits) {
    return bits < 0x10000 ? std::to_string(bits) : "0x" + llvm::utohexstr(bits);
  }
  std::string text(Value value, bool isAddress = false) {
    Attribute attribute;
    if (!matchPattern(value, m_Constant(&attribute)))
      return name(value);
    if (auto real = dyn_cast<FloatAttr>(attribute)) {
      // Bits, because decimal text would lose infinities and payloads.
      uint32_t bits = uint32_t(real.getValue().bitcastToAPInt().getZExtValue());
      SmallString<16> shown;
      real.getValue().toString(shown);
      return "__builtin_bit_cast(float, 0x" + llvm::utohexstr(bits) + "u /* " + shown.str().str() + " */)";
    }
    uint32_t bits = uint32_t(cast<IntegerAttr>(attribute).getValue().getZExtValue());
    if (value.getType().isInteger(1))
      return bits ? "true" : "false";
    if (isAddress)
      return address(bits);
    return number(bits);
  }

  //===-- statements
  //-------------------------------------------------------------------------------------===//

  void define(Operation *op, const std::string &expression) {
    if (op->use_empty()) {
      line() << expression << ";\n";
      return;
    }
    line() << typeName(op->getResult(0).getType()) << ' ' << name(op->getResult(0)) << " = " << expression
           << ";\n";
  }
  std::string arguments(Operation *op, bool addresses) {
    std::string list;
    for (Value operand : op->getOperands())
      list += (list.empty() ? "" : ", ") + text(operand, addresses);
    return list;
  }
  /// Assigns `values` to `targets`, all at once.
  void assign(ValueRange targets, ValueRange values) {
    if (targets.size() == 1) {
      line() << name(targets[0]) << " = " << text(values[0]) << ";\n";
      return;
    }
    for (auto [index, value] : llvm::enumerate(values))
      line() << "auto next_" << index << " = " << text(value) << ";\n";
    for (auto [index, variable] : llvm::enumerate(targets))
      line() << name(variable) << " = next_" << index << ";\n";
  }
  void declare(ValueRange variables, ValueRange values = {}) {
    for (auto [index, variable] : llvm::enumerate(variables)) {
      line() << typeName(variable.getType()) << ' ' << name(variable);
      if (!values.empty())
        out << " = " << text(values[index]);
      out << ";\n";
    }
  }
  /// The statements of a block; its yield assigns to `targets`.
  void printBlock(Block &block, ValueRange targets) {
    ++depth;
    for (Operation &op : block) {
      if (auto yield = dyn_cast<scf::YieldOp>(op)) {
        if (!targets.empty())
          assign(targets, yield.getOperands());
      } else if (!printOp(&op) && !failure) {
        failure = &op;
      }
    }
    --depth;
  }
  bool printOp(Operation *op) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<arith::ConstantOp>([](auto) { return true; })
        .Case<npu::Instruction>([&](npu::Instruction insn) {
          std::string call = intrinsicName(insn) + "(" + arguments(op, true) + ")";
          if (op->getNumResults() == 1)
            define(op, call);
          else
            line() << call << ";\n";
          return true;
        })
        .Case<npu::CsrwOp>([&](npu::CsrwOp csrw) {
          line() << csrFunctionName(csrw.getCsr()) << '(' << text(csrw.getValue()) << ");\n";
          return true;
        })
        .Case<npu::CoreIdOp>([&](auto) { return define(op, "core_id()"), true; })
        .Case<npu::Load32Op>(
            [&](auto load) { return define(op, "load32(" + text(load.getAddress(), true) + ")"), true; })
        .Case<npu::Store32Op>([&](auto store) {
          line() << "store32(" << text(store.getAddress(), true) << ", " << text(store.getValue(), true)
                 << ");\n";
          return true;
        })
        .Case<npu::WaitOp>([&](auto wait) {
          line() << "wait(" << text(wait.getAddress(), true) << ", " << text(wait.getMask()) << ");\n";
          return true;
        })
        .Case<scf::ForOp, scf::IfOp>([&](auto structured) { return printStructured(structured), true; })
        .Case<func::CallOp>([&](func::CallOp call) {
          std::string expression = call.getCallee().str() + "(" + arguments(op, false) + ")";
          if (op->getNumResults() == 1)
            define(op, expression);
          else
            line() << expression << ";\n";
          return op->getNumResults() < 2;
        })
        .Case<func::ReturnOp>([&](func::ReturnOp ret) {
          if (ret.getNumOperands() == 1)
            line() << "return " << text(ret.getOperand(0)) << ";\n";
          return ret.getNumOperands() < 2;
        })
        .Default([&](Operation *) { return printArithmetic(op); });
  }
  void printStructured(scf::ForOp loop) {
    declare(loop.getRegionIterArgs(), loop.getInitArgs());
    std::string i = name(loop.getInductionVar());
    line() << "for (u32 " << i << " = " << text(loop.getLowerBound()) << "; s(" << i << ") < s("
           << text(loop.getUpperBound()) << "); " << i << " += " << text(loop.getStep()) << ") {\n";
    printBlock(*loop.getBody(), loop.getRegionIterArgs());
    line() << "}\n";
    // After the loop its results are what its variables hold.
    for (auto [result, variable] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
      names[result] = name(variable);
  }
  void printStructured(scf::IfOp branch) {
    declare(branch.getResults());
    line() << "if (" << text(branch.getCondition()) << ") {\n";
    printBlock(*branch.thenBlock(), branch.getResults());
    if (branch.elseBlock()) {
      line() << "} else {\n";
      printBlock(*branch.elseBlock(), branch.getResults());
    }
    line() << "}\n";
  }
  /// Sums are mostly addresses; negative constants are subtracted.
  void printAddition(Operation *op) {
    APInt bits;
    std::string left = text(op->getOperand(0));
    if (!matchPattern(op->getOperand(1), m_ConstantInt(&bits)))
      return define(op, left + " + " + text(op->getOperand(1)));
    uint32_t value = uint32_t(bits.getZExtValue());
    if (value > 0xFFFF0000)
      return define(op, left + " - " + std::to_string(0u - value));
    define(op, left + " + " + (value < 0x10000 ? number(value) : address(value)));
  }
  bool printArithmetic(Operation *op) {
    auto operand = [&](unsigned i) { return text(op->getOperand(i)); };
    auto infix = [&](const char *sign) {
      return define(op, operand(0) + " " + sign + " " + operand(1)), true;
    };
    auto call = [&](const char *function) {
      return define(op, std::string(function) + "(" + operand(0) + ", " + operand(1) + ")"), true;
    };
    auto isSigned = [&](const char *sign) {
      return define(op, "u32(s(" + operand(0) + ") " + sign + " s(" + operand(1) + "))"), true;
    };
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<arith::AddIOp>([&](auto) { return printAddition(op), true; })
        .Case<arith::AddFOp>([&](auto) { return infix("+"); })
        .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return infix("-"); })
        .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return infix("*"); })
        .Case<arith::DivUIOp>([&](auto) { return infix("/"); })
        .Case<arith::RemUIOp>([&](auto) { return infix("%"); })
        .Case<arith::AndIOp>([&](auto) { return infix("&"); })
        .Case<arith::OrIOp>([&](auto) { return infix("|"); })
        .Case<arith::XOrIOp>([&](auto) { return infix("^"); })
        .Case<arith::ShLIOp>([&](auto) { return infix("<<"); })
        .Case<arith::ShRUIOp>([&](auto) { return infix(">>"); })
        .Case<arith::ShRSIOp>([&](auto) { return isSigned(">>"); })
        .Case<arith::DivSIOp>([&](auto) { return isSigned("/"); })
        .Case<arith::RemSIOp>([&](auto) { return isSigned("%"); })
        .Case<arith::MinSIOp>([&](auto) { return call("smin"); })
        .Case<arith::MaxSIOp>([&](auto) { return call("smax"); })
        .Case<arith::MinUIOp>([&](auto) { return call("umin"); })
        .Case<arith::MaxUIOp>([&](auto) { return call("umax"); })
        .Case<arith::SIToFPOp>([&](auto) { return define(op, "float(s(" + operand(0) + "))"), true; })
        .Case<arith::ExtUIOp>([&](auto) { return define(op, "u32(" + operand(0) + ")"), true; })
        .Case<arith::SelectOp>(
            [&](auto) { return define(op, operand(0) + " ? " + operand(1) + " : " + operand(2)), true; })
        .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
          static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
          unsigned predicate = unsigned(compare.getPredicate());
          bool compareSigned = predicate >= 2 && predicate < 6;
          return compareSigned
                     ? (define(op, "s(" + operand(0) + ") " + signs[predicate] + " s(" + operand(1) + ")"),
                        true)
                     : infix(signs[predicate]);
        })
        .Default([](Operation *) { return false; });
  }

  llvm::raw_ostream &out;
  func::FuncOp function;
  unsigned depth = 0;
  llvm::DenseMap<Value, std::string> names;
  std::vector<NamedBuffer> buffers;
  Operation *failure = nullptr;
};

} // namespace

std::optional<std::string> printCpp(ModuleOp module, const std::vector<KernelList> &segments,
                                    Diagnostics &diags) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "// Kernels for one cluster of the STCP920, written by TensorTurbo. Build:\n"
         "//   clang++-22 --target=riscv32-unknown-elf -march=rv32imafdc -mabi=ilp32d -std=c++20 -O2 "
         "-ffreestanding \\\n"
         "//     -nostdlib -fuse-ld=lld -Wl,--image-base=0x1400000 FILE.cc -o FILE.elf\n"
         "// Weights and inputs are not part of it; the kernels expect them at their addresses in DDR.\n"
         "#include <stdint.h>\n\n";
  UsedIntrinsics::of(module).print(out);
  out << '\n';
  for (auto function : module.getOps<func::FuncOp>()) {
    FunctionPrinter(out, function).printSignature();
    out << ";\n";
  }
  bool good = true;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    out << '\n';
    std::vector<std::string> nodes = sourceNodes(function.getLoc());
    for (const std::string &node : nodes)
      out << "// node " << quoteForMessage(node) << '\n';
    Operation *failure = function.getBody().hasOneBlock() ? FunctionPrinter(out, function).print() : function;
    if (failure) {
      diags.internalError("kernel '" + function.getName().str() + "': no C++ form of '" +
                              failure->getName().getStringRef().str() + "'",
                          nodes.empty() ? "" : nodes.front());
      good = false;
    }
  }
  out << "\n// Start-up code: every core begins at _start and runs the segment in tt_segment\nasm(R\"(\n"
      << startupAssembly(segments) << ")\");\n";
  if (!good)
    return std::nullopt;
  return text;
}

} // namespace tensorturbo::codegen
