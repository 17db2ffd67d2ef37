// Developer tool: compiles a whole model for the host, runs it in this process and compares the outputs with
// stored ones.
#include "Conversion/RelayToLinalg/RelayToLinalg.h"
#include "Dialect/Relay/RelayDialect.h"
#ifdef HAVE_IMPORT_ONNX
#include "Import/onnx/Import.h"
#endif
#include "Support/File.h"
#include "Support/Npy.h"
#include "Transforms/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cl = llvm::cl;
using namespace mlir;
using namespace tensorturbo;

namespace {

/// The command line. Kept apart from LLVM's option objects, because lld resets those whenever it runs.
struct Options {
  std::string model, data, out, save, cpu;
  double tolerance = 0;
  int repeat = 1;
  bool printIr = false;
  std::vector<std::string> shapes, passes;
};

Options parseCommandLine(int argc, char **argv) {
  static cl::OptionCategory category("tt-run-host");
  static cl::opt<std::string> model(cl::Positional, cl::Required, cl::desc("<model.onnx or relay .mlir>"),
                                    cl::cat(category));
  static cl::opt<std::string> data("data", cl::desc("inputs in.<name>, expected outputs out.<name> (.npz)"),
                                   cl::cat(category));
  static cl::opt<std::string> out("out", cl::desc("write the outputs to this .npz file"), cl::cat(category));
  static cl::opt<std::string> save("save", cl::desc("write the shared object to this file"),
                                   cl::cat(category));
  static cl::opt<double> tolerance(
      "tolerance", cl::init(1e-4), cl::cat(category),
      cl::desc("largest error; relative to the largest expected value where that is "
               "above 1"));
  static cl::opt<int> repeat("repeat", cl::init(1), cl::desc("runs; the fastest one is reported"),
                             cl::cat(category));
  static cl::opt<bool> printIr("print-ir", cl::desc("print the linalg module"), cl::cat(category));
  static cl::opt<std::string> cpu("cpu", cl::desc("instruction set"), cl::init(HostOptions().cpu),
                                  cl::cat(category));
  static cl::list<std::string> shapes("shape", cl::desc("shape of an input: name=1,3,224,224"),
                                      cl::cat(category));
  static cl::list<std::string> passes("passes", cl::CommaSeparated,
                                      cl::desc("relay passes to run first, by name"), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Compiles a model for the host, runs it, compares its outputs.\n");
  return {model, data, out, save, cpu, tolerance, repeat, printIr, shapes, passes};
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

struct Port {
  std::string name;
  NpyArray array;
};

/// Names, shapes and types of main's inputs or outputs; arrays are zero.
std::vector<Port> portsOf(func::FuncOp main, bool inputs) {
  std::vector<Port> ports;
  unsigned count = inputs ? main.getNumArguments() : main.getNumResults();
  for (unsigned i = 0; i < count; ++i) {
    auto name = inputs ? main.getArgAttrOfType<StringAttr>(i, "relay.name")
                       : main.getResultAttrOfType<StringAttr>(i, "relay.name");
    auto type = cast<RankedTensorType>(inputs ? main.getArgumentTypes()[i] : main.getResultTypes()[i]);
    Port port;
    port.name = name ? name.str() : (inputs ? "in" : "out") + std::to_string(i);
    port.array.dtype = *relay::dtypeOf(type.getElementType());
    port.array.shape.assign(type.getShape().begin(), type.getShape().end());
    port.array.bytes.resize(type.getNumElements() * dtypeSize(port.array.dtype));
    ports.push_back(std::move(port));
  }
  return ports;
}

float halfToFloat(uint16_t bits) {
  llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
  bool lost;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToFloat();
}

double element(const NpyArray &array, size_t i) {
  auto at = [&](auto type) {
    decltype(type) value;
    std::memcpy(&value, array.bytes.data() + i * sizeof(value), sizeof(value));
    return value;
  };
  switch (array.dtype) {
  case DType::Bool:
  case DType::UInt8:
    return at(uint8_t());
  case DType::Int8:
    return at(int8_t());
  case DType::Int16:
    return at(int16_t());
  case DType::UInt16:
    return at(uint16_t());
  case DType::Int32:
    return at(int32_t());
  case DType::UInt32:
    return at(uint32_t());
  case DType::Int64:
    return double(at(int64_t()));
  case DType::UInt64:
    return double(at(uint64_t()));
  case DType::Float16:
    return halfToFloat(at(uint16_t()));
  case DType::BFloat16: {
    uint32_t bits = uint32_t(at(uint16_t())) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  case DType::Float32:
    return at(float());
  case DType::Float64:
    return at(double());
  }
  return 0;
}

/// Largest error over all elements, scaled as the option says; infinity where only one side is NaN.
double largestError(const NpyArray &got, const NpyArray &want) {
  size_t count = got.bytes.size() / dtypeSize(got.dtype);
  double error = 0, scale = 1;
  for (size_t i = 0; i < count; ++i) {
    double g = element(got, i), w = element(want, i);
    if (std::isfinite(w))
      scale = std::max(scale, std::fabs(w));
    if (g == w || (std::isnan(g) && std::isnan(w)))
      continue;
    double difference = std::fabs(g - w);
    error = std::isnan(difference) ? INFINITY : std::max(error, difference);
  }
  return error / scale;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

OwningOpRef<ModuleOp> loadModel(const std::string &path, MLIRContext &context, const Shapes &shapes,
                                Diagnostics &diags) {
  if (StringRef(path).ends_with(".mlir")) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
    if (!module)
      diags.userError(quoteForMessage(path) + " is not valid relay IR");
    return module;
  }
#ifdef HAVE_IMPORT_ONNX
  return onnx::importOnnx(path, shapes, context, diags);
#else
  diags.userError("this build imports no ONNX files");
  return {};
#endif
}

bool parseShapes(const std::vector<std::string> &texts, Shapes &shapes, Diagnostics &diags) {
  for (const std::string &text : texts) {
    auto [name, values] = StringRef(text).rsplit('=');
    std::vector<int64_t> shape;
    llvm::SmallVector<StringRef> parts;
    if (!values.empty())
      values.split(parts, ',');
    for (StringRef part : parts) {
      int64_t extent;
      if (part.getAsInteger(10, extent)) {
        diags.userError("--shape must look like name=1,3,224,224, got " + quoteForMessage(text));
        return false;
      }
      shape.push_back(extent);
    }
    shapes[name.str()] = shape;
  }
  return true;
}

/// The array for an input: "in.<name>" or "<name>"; zeros of the model's type if there is no data file at
/// all.
bool fillInput(Port &port, const NpzArrays &data, Diagnostics &diags) {
  auto found = data.find("in." + port.name);
  if (found == data.end())
    found = data.find(port.name);
  if (found == data.end()) {
    if (!data.empty())
      diags.userError("the data file has no array for input " + quoteForMessage(port.name));
    return data.empty();
  }
  const NpyArray &array = found->second;
  if (array.dtype != port.array.dtype || array.shape != port.array.shape) {
    diags.userError("input " + quoteForMessage(port.name) + " must be " + dtypeName(port.array.dtype) +
                    " of shape " + shapeText(port.array.shape) + ", got " + dtypeName(array.dtype) +
                    " of shape " + shapeText(array.shape));
    return false;
  }
  port.array = array;
  return true;
}

/// Prints one line for each output. False if an expected one is missing or wrong.
bool compare(const std::vector<Port> &outputs, const NpzArrays &data, double tolerance) {
  bool good = true;
  for (const Port &port : outputs) {
    llvm::outs() << "output " << quoteForMessage(port.name) << " " << dtypeName(port.array.dtype) << " "
                 << shapeText(port.array.shape);
    auto found = data.find("out." + port.name);
    if (found == data.end()) {
      llvm::outs() << ": nothing to compare with\n";
      continue;
    }
    const NpyArray &want = found->second;
    if (want.shape != port.array.shape || want.dtype != port.array.dtype) {
      llvm::outs() << ": expected " << dtypeName(want.dtype) << " " << shapeText(want.shape) << ": WRONG\n";
      good = false;
      continue;
    }
    double error = largestError(port.array, want);
    bool ok = error <= tolerance;
    llvm::outs() << ": max error " << llvm::format("%.3g", error) << (ok ? ": ok\n" : ": WRONG\n");
    good &= ok;
  }
  return good;
}

bool run(const Options &options, Diagnostics &diags) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  NpzArrays data;
  Shapes shapes;
  if (!options.data.empty()) {
    std::optional<NpzArrays> read = readNpz(options.data, diags);
    if (!read)
      return false;
    data = std::move(*read);
    for (const auto &[key, array] : data)
      if (StringRef(key).starts_with("in."))
        shapes[key.substr(3)] = array.shape;
  }
  if (!parseShapes(options.shapes, shapes, diags))
    return false;

  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadHostDialects(context);
  context.loadDialect<relay::RelayDialect>();
  auto start = Clock::now();
  OwningOpRef<ModuleOp> module = loadModel(options.model, context, shapes, diags);
  if (!module)
    return false;
  double importTime = seconds(start);
  PassManager manager(&context);
  for (const std::string &name : options.passes) {
    auto pass = relay::createPass(name);
    if (!pass) {
      diags.userError("there is no pass " + quoteForMessage(name));
      return false;
    }
    manager.addPass(std::move(pass));
  }
  if (failed(manager.run(*module))) {
    diags.internalError("a pass failed");
    return false;
  }
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main) {
    diags.userError("the module has no function @main");
    return false;
  }
  std::vector<Port> inputs = portsOf(main, true), outputs = portsOf(main, false);
  for (Port &port : inputs)
    if (!fillInput(port, data, diags))
      return false;

  start = Clock::now();
  std::optional<HostProgram> program = convertRelayToLinalg({main}, diags);
  if (!program)
    return false;
  if (options.printIr)
    program->module->print(llvm::outs());
  if (failed(verify(*program->module))) {
    diags.internalError("the linalg module is invalid");
    return false;
  }
  HostOptions hostOptions;
  hostOptions.cpu = options.cpu;
  std::vector<char> object;
  if (!compileHostModule(*program->module, hostOptions, program->constants, object, diags))
    return false;
  double compileTime = seconds(start);
  std::string_view bytes(object.data(), object.size());
  if (!options.save.empty() && !writeFileAtomically(options.save, {bytes}, diags))
    return false;

  int file = memfd_create("host", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != ssize_t(bytes.size())) {
    diags.resourceError("the host code cannot be loaded: no memory file");
    return false;
  }
  void *library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  auto function = library ? reinterpret_cast<void (*)(void **)>(dlsym(library, "tt_main")) : nullptr;
  if (!function) {
    diags.internalError(std::string("the host code cannot be loaded: ") + dlerror());
    return false;
  }
  std::vector<void *> buffers;
  for (std::vector<Port> *ports : {&inputs, &outputs})
    for (Port &port : *ports)
      buffers.push_back(port.array.bytes.data());
  double runTime = INFINITY;
  for (int i = 0; i < std::max(options.repeat, 1); ++i) {
    start = Clock::now();
    function(buffers.data());
    runTime = std::min(runTime, seconds(start));
  }
  dlclose(library);
  llvm::outs() << llvm::format("import %.3f s, compile %.3f s, run %.4f s, object %zu bytes\n", importTime,
                               compileTime, runTime, object.size());
  if (!options.out.empty()) {
    NpzArrays results;
    for (const Port &port : outputs)
      results[port.name] = port.array;
    if (!writeNpz(options.out, results, diags))
      return false;
  }
  return compare(outputs, data, options.tolerance);
}

} // namespace

int main(int argc, char **argv) {
  Options options = parseCommandLine(argc, argv);
  Diagnostics diags;
  bool good = run(options, diags);
  llvm::errs() << diags.render();
  return diags.hasErrors() ? diags.exitCode() : good ? 0 : 1;
}
