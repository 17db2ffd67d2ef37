// Reads the chip description. Each missing or ill-typed field is a finding of its own.
#include "Target/Target.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdlib>

namespace tensorturbo::target {

namespace {

const char kP920Json[] =
#include "Target/p920.json.inc"
    ;

template <typename T> struct NameOf {
  const char *name;
  T value;
};

const NameOf<Engine> kEngines[] = {{"MME", Engine::Mme},
                                   {"VME", Engine::Vme},
                                   {"MTE", Engine::Mte},
                                   {"SYNC", Engine::Sync},
                                   {"SCALAR", Engine::Scalar}};
const NameOf<OperandKind> kKinds[] = {{"none", OperandKind::None},     {"address", OperandKind::Address},
                                      {"bytes", OperandKind::Bytes},   {"float", OperandKind::Float},
                                      {"vector", OperandKind::Vector}, {"reduction", OperandKind::Reduction}};
const NameOf<CostClass> kCosts[] = {{"vector", CostClass::Vector},
                                    {"poly", CostClass::Poly},
                                    {"lut", CostClass::Lut},
                                    {"matmul", CostClass::Matmul},
                                    {"matmul-int8", CostClass::MatmulInt8},
                                    {"conv", CostClass::Conv},
                                    {"conv-int8", CostClass::ConvInt8},
                                    {"transpose", CostClass::Transpose},
                                    {"transfer", CostClass::Transfer},
                                    {"broadcast", CostClass::Broadcast},
                                    {"exchange", CostClass::Exchange},
                                    {"barrier", CostClass::Barrier},
                                    {"scalar", CostClass::Scalar}};

const char *const kConstants[] = {"cores",
                                  "clock",
                                  "mme.fixed",
                                  "mme.rows",
                                  "mme.columns",
                                  "mme.int8_speed",
                                  "vme.fixed",
                                  "vme.lanes",
                                  "vme.scale",
                                  "vme.poly_factor",
                                  "vme.lut_factor",
                                  "mte.fixed",
                                  "mte.bytes_per_cycle",
                                  "icmov.fixed",
                                  "icmov.bytes_per_cycle",
                                  "l1.bytes_per_cycle",
                                  "llb.bytes_per_cycle",
                                  "ddr.bytes_per_second",
                                  "sync.fixed",
                                  "mme.transpose_elements",
                                  "mesh.hop",
                                  "pld.fixed",
                                  "im.bytes_per_cycle",
                                  "queue.depth",
                                  "frontend.blocking",
                                  "overlap.exact",
                                  "scalar.instruction",
                                  "scalar.issue",
                                  "scalar.device_load",
                                  "dma.start",
                                  "dma.descriptor",
                                  "dma.bytes_per_cycle",
                                  "dma.burst_overhead",
                                  "ddr.clusters",
                                  "scalar.csr_write"};

/// Constants that switch something on; they alone may be 0.
bool isSwitch(std::string_view name) {
  return name == "frontend.blocking" || name == "overlap.exact";
}

} // namespace

class Reader {
public:
  explicit Reader(Diagnostics &diags) : diags(diags) {}

  std::unique_ptr<const Target> read(std::string_view text) {
    llvm::Expected<llvm::json::Value> root = llvm::json::parse(llvm::StringRef(text.data(), text.size()));
    if (!root) {
      fail("the chip description is not JSON: " + llvm::toString(root.takeError()));
      return nullptr;
    }
    const llvm::json::Object *top = root->getAsObject();
    if (!top) {
      fail("the chip description must be a JSON object");
      return nullptr;
    }
    std::unique_ptr<Target> target(new Target);
    target->targetName = string(*top, "name");
    readConstants(*top, *target);
    readProfiles(*top, *target);
    readMemories(*top, *target);
    for (const llvm::json::Object *o : objects(*top, "addresses"))
      target->addresses.push_back({string(*o, "name"), number(*o, "address")});
    for (const llvm::json::Object *o : objects(*top, "limits"))
      target->limits.push_back({string(*o, "name"), number(*o, "value")});
    for (const llvm::json::Object *o : objects(*top, "csrs"))
      target->csrList.push_back({uint16_t(number(*o, "number")), string(*o, "name"), string(*o, "doc")});
    readInstructions(*top, *target);
    if (failed)
      return nullptr;
    target->indexInstructions();
    return target;
  }

private:
  void fail(std::string message) {
    failed = true;
    diags.userError(std::move(message));
  }

  std::string string(const llvm::json::Object &o, llvm::StringRef key) {
    if (std::optional<llvm::StringRef> s = o.getString(key))
      return s->str();
    fail("the chip description needs a text '" + key.str() + "' in each entry of its kind");
    return {};
  }

  double real(const llvm::json::Object &o, llvm::StringRef key) {
    if (std::optional<double> d = o.getNumber(key))
      return *d;
    fail("the chip description needs a number '" + key.str() + "' in each entry of its kind");
    return 0;
  }

  /// A JSON integer, or a text in C notation ("0x...").
  uint32_t number(const llvm::json::Object &o, llvm::StringRef key) {
    uint64_t value = 0;
    if (std::optional<int64_t> i = o.getInteger(key)) {
      value = uint64_t(*i);
    } else {
      std::optional<llvm::StringRef> s = o.getString(key);
      if (!s || s->getAsInteger(0, value))
        return fail("the chip description needs an integer '" + key.str() + "' in each entry of its kind"), 0;
    }
    if (value > UINT32_MAX)
      fail("'" + key.str() + "' in the chip description exceeds 32 bits");
    return uint32_t(value);
  }

  std::vector<const llvm::json::Object *> objects(const llvm::json::Object &o, llvm::StringRef key) {
    std::vector<const llvm::json::Object *> list;
    const llvm::json::Array *array = o.getArray(key);
    if (!array)
      fail("the chip description needs a list '" + key.str() + "'");
    else
      for (const llvm::json::Value &v : *array)
        if (const llvm::json::Object *item = v.getAsObject())
          list.push_back(item);
        else
          fail("the list '" + key.str() + "' of the chip description must hold objects");
    return list;
  }

  template <typename T, size_t N>
  T choice(const llvm::json::Object &o, llvm::StringRef key, const NameOf<T> (&names)[N]) {
    std::string text = string(o, key);
    for (const NameOf<T> &n : names)
      if (text == n.name)
        return n.value;
    fail("'" + text + "' is no value of '" + key.str() + "' in the chip description");
    return names[0].value;
  }

  void readConstants(const llvm::json::Object &top, Target &target) {
    const llvm::json::Object *all = top.getObject("constants");
    if (!all)
      return fail("the chip description needs an object 'constants'");
    for (const char *name : kConstants) {
      const llvm::json::Object *o = all->getObject(name);
      if (!o) {
        fail(std::string("the chip description lacks the constant '") + name + "'");
        continue;
      }
      Constant c{name, real(*o, "value"), string(*o, "unit"), string(*o, "source")};
      if (!Target::acceptsValue(name, c.value))
        fail(std::string("the constant '") + name + "' of the chip description must be " +
             (isSwitch(name) ? "0 or 1" : "positive"));
      target.constantList.push_back(std::move(c));
    }
    for (const Constant &c : target.constantList)
      if (c.name == "cores")
        target.coreCount = uint32_t(c.value);
    const llvm::json::Object *mesh = top.getObject("mesh_hops");
    const llvm::json::Array *hops = mesh ? mesh->getArray("value") : nullptr;
    if (!hops || hops->size() != target.meshHops.size())
      return fail("the chip description needs 'mesh_hops' with one number for each of 8 cores");
    for (size_t i = 0; i < hops->size(); ++i)
      target.meshHops[i] = (*hops)[i].getAsNumber().value_or(0);
  }

  void readProfiles(const llvm::json::Object &top, Target &target) {
    for (const llvm::json::Object *o : objects(top, "profiles")) {
      Target::Profile p;
      p.name = string(*o, "name");
      if (const llvm::json::Object *overrides = o->getObject("override"))
        for (const auto &entry : *overrides) {
          const llvm::json::Object *c = entry.second.getAsObject();
          bool known = false;
          for (const Constant &k : target.constantList)
            known |= llvm::StringRef(k.name) == llvm::StringRef(entry.first);
          if (!c || !known)
            fail("profile '" + p.name + "' overrides the unknown constant '" + entry.first.str() + "'");
          else
            p.overrides.push_back({entry.first.str(), real(*c, "value")});
        }
      target.profileList.push_back(std::move(p));
    }
  }

  void readMemories(const llvm::json::Object &top, Target &target) {
    const NameOf<MemoryRegion Target::*> kRegions[] = {{"DDR", &Target::ddrRegion},
                                                       {"L1", &Target::l1Region},
                                                       {"IM", &Target::imRegion},
                                                       {"LLB", &Target::llbRegion}};
    for (const llvm::json::Object *o : objects(top, "memories")) {
      MemoryRegion m;
      m.name = string(*o, "name");
      m.base = number(*o, "base");
      m.size = number(*o, "size");
      m.doc = string(*o, "doc");
      m.alias = o->get("alias") ? number(*o, "alias") : 0;
      m.clusterShare = o->get("clusterShare") ? number(*o, "clusterShare") : m.size;
      for (const auto &r : kRegions)
        if (m.name == r.name)
          target.*r.value = m;
    }
    for (const auto &r : kRegions)
      if ((target.*r.value).size == 0)
        fail(std::string("the chip description lacks the memory '") + r.name + "'");
  }

  void readInstructions(const llvm::json::Object &top, Target &target) {
    for (const llvm::json::Object *o : objects(top, "instructions")) {
      Instruction i;
      i.mnemonic = string(*o, "mnemonic");
      i.mask = number(*o, "mask");
      i.match = number(*o, "match");
      i.engine = choice(*o, "engine", kEngines);
      i.rd = choice(*o, "rd", kKinds);
      i.rs1 = choice(*o, "rs1", kKinds);
      i.rs2 = choice(*o, "rs2", kKinds);
      i.cost = choice(*o, "cost", kCosts);
      i.doc = string(*o, "doc");
      if (const llvm::json::Array *csrs = o->getArray("csrs"))
        for (const llvm::json::Value &v : *csrs) {
          std::optional<llvm::StringRef> name = v.getAsString();
          std::optional<uint16_t> csr = name ? target.csrNumber(std::string_view(*name)) : std::nullopt;
          if (csr)
            i.csrs.push_back(*csr);
          else
            fail("instruction '" + i.mnemonic + "' reads an unknown CSR");
        }
      if (i.match & ~i.mask)
        fail("instruction '" + i.mnemonic + "' matches bits outside its mask");
      target.table.push_back(std::move(i));
    }
  }

  Diagnostics &diags;
  bool failed = false;
};

bool Target::acceptsValue(std::string_view constant, double value) {
  return isSwitch(constant) ? value == 0 || value == 1 : value > 0 && value < 1e15;
}

std::unique_ptr<const Target> Target::parse(std::string_view json, Diagnostics &diags) {
  return Reader(diags).read(json);
}

std::string_view p920Json() {
  return {kP920Json, sizeof kP920Json - 1};
}

const Target &p920() {
  static const std::unique_ptr<const Target> target = [] {
    Diagnostics diags;
    std::unique_ptr<const Target> t = Target::parse(p920Json(), diags);
    if (!t) {
      // The description is part of the program: this can only be a broken build.
      std::fputs(diags.render().c_str(), stderr);
      std::abort();
    }
    return t;
  }();
  return *target;
}

} // namespace tensorturbo::target
