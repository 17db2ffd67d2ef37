// The extension module tensorturbo._core: a thin layer over the compiler and the run-time library. Calls that
// can fail return (result or None, findings); the Python code turns findings into exceptions and warnings.
#include "Pipeline/Compiler.h"
#include "Pipeline/Options.h"
#include "runtime/Executor.h"
#include "runtime/Pack.h"
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace tensorturbo;

namespace {

/// (severity, class, message, node, hint) of each finding.
using Findings = std::vector<std::tuple<std::string, std::string, std::string, std::string, std::string>>;
/// (name, shape, dtype)
using Info = std::vector<std::tuple<std::string, std::vector<int64_t>, std::string>>;
/// (dtype, shape, bytes-like object)
using ArrayArguments = std::map<std::string, std::tuple<std::string, std::vector<int64_t>, nb::object>>;

Findings findingsOf(const Diagnostics &diags) {
  static const char *const severities[] = {"error", "warning", "note"};
  static const char *const classes[] = {"user", "resource", "internal"};
  Findings out;
  for (const Diagnostic &d : diags.all())
    out.emplace_back(severities[static_cast<int>(d.severity)], classes[static_cast<int>(d.errorClass)],
                     d.message, d.node, d.hint);
  return out;
}

/// Runs `body(diags)` without the interpreter lock; out of memory becomes a resource error.
template <typename F> auto unlocked(Diagnostics &diags, F body) -> decltype(body(diags)) {
  nb::gil_scoped_release release;
  try {
    return body(diags);
  } catch (const std::bad_alloc &) {
    diags.resourceError("out of memory");
    return {};
  }
}

/// A model that several Python threads may share: the compiler sees one at a time.
struct PyModel {
  std::unique_ptr<Model> model;
  mutable std::mutex mutex;
};

std::pair<std::shared_ptr<PyModel>, Findings> fromOnnx(const std::string &path, const ShapeMap &shapes) {
  Diagnostics diags;
  auto model = unlocked(diags, [&](Diagnostics &d) { return Model::fromOnnx(path, shapes, d); });
  std::shared_ptr<PyModel> out;
  if (model) {
    out = std::make_shared<PyModel>();
    out->model = std::move(model);
  }
  return {out, findingsOf(diags)};
}

Info infoOf(const std::vector<TensorInfo> &tensors) {
  Info out;
  for (const TensorInfo &t : tensors)
    out.emplace_back(t.name, t.shape, dtypeName(t.dtype));
  return out;
}

std::pair<bool, Findings> setInputShapes(PyModel &self, const ShapeMap &shapes) {
  Diagnostics diags;
  bool good = unlocked(diags, [&](Diagnostics &d) {
    std::lock_guard lock(self.mutex);
    return self.model->setInputShapes(shapes, d);
  });
  return {good, findingsOf(diags)};
}

/// What a compilation made: (name, op, where, reason) of the nodes, size of the object, seconds of the
/// phases.
using Report = std::tuple<std::vector<std::tuple<std::string, std::string, std::string, std::string>>,
                          uint64_t, std::vector<std::pair<std::string, double>>>;

Report reportOf(const CompileReport &report) {
  Report out;
  for (const NodePlacement &n : report.nodes)
    std::get<0>(out).emplace_back(n.name, n.op, n.where, n.reason);
  std::get<1>(out) = report.objectBytes;
  std::get<2>(out) = report.phases;
  return out;
}

std::pair<std::optional<Report>, Findings>
compileModel(const PyModel &self, const std::string &outputFile,
             const std::vector<std::pair<std::string, OptionValue>> &values) {
  Diagnostics diags;
  CompileOptions options;
  for (const auto &[name, value] : values)
    setOption(options, name, value, diags);
  std::optional<Report> result;
  if (!diags.hasErrors()) {
    CompileReport report;
    bool good = unlocked(diags, [&](Diagnostics &d) {
      std::lock_guard lock(self.mutex);
      return self.model->compile(outputFile, options, d, &report);
    });
    if (good)
      result = reportOf(report);
  }
  return {result, findingsOf(diags)};
}

/// Holds buffers of the caller's arrays while the run-time library reads them.
class Views {
public:
  Views(const ArrayArguments &arrays, Diagnostics &diags) {
    buffers.reserve(arrays.size());
    for (const auto &[name, array] : arrays) {
      const auto &[dtypeText, shape, object] = array;
      auto dtype = dtypeFromName(dtypeText);
      if (!dtype) {
        diags.userError("input " + quoteForMessage(name) + " has element type " + quoteForMessage(dtypeText) +
                        ", which no model has");
        continue;
      }
      Py_buffer buffer;
      if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_C_CONTIGUOUS) != 0)
        throw nb::python_error();
      buffers.push_back(buffer);
      uint64_t bytes = dtypeSize(*dtype);
      for (int64_t d : shape)
        bytes *= static_cast<uint64_t>(d);
      if (bytes != static_cast<uint64_t>(buffer.len))
        throw nb::value_error("the buffer's size does not fit its shape");
      views[name] = {*dtype, shape, buffer.buf};
    }
  }
  ~Views() {
    for (Py_buffer &buffer : buffers)
      PyBuffer_Release(&buffer);
  }
  Views(const Views &) = delete;
  Views &operator=(const Views &) = delete;

  std::map<std::string, runtime::TensorView> views;

private:
  std::vector<Py_buffer> buffers;
};

struct PyExecutor {
  std::unique_ptr<runtime::Executor> executor;
  std::mutex mutex;
};

std::pair<std::shared_ptr<PyExecutor>, Findings> loadExecutor(const std::string &path, bool checks) {
  Diagnostics diags;
  runtime::ExecutorOptions options;
  options.checks = checks;
  auto executor = unlocked(diags, [&](Diagnostics &d) { return runtime::Executor::load(path, d, options); });
  std::shared_ptr<PyExecutor> out;
  if (executor) {
    out = std::make_shared<PyExecutor>();
    out->executor = std::move(executor);
  }
  return {out, findingsOf(diags)};
}

Info infoOf(const std::vector<runtime::TensorSpec> &tensors) {
  Info out;
  for (const runtime::TensorSpec &t : tensors)
    out.emplace_back(t.name, t.shape, dtypeName(t.dtype));
  return out;
}

std::pair<bool, Findings> setInputs(PyExecutor &self, const ArrayArguments &arrays) {
  Diagnostics diags;
  Views views(arrays, diags);
  bool good = !diags.hasErrors() && unlocked(diags, [&](Diagnostics &d) {
    std::lock_guard lock(self.mutex);
    return self.executor->setInputs(views.views, d);
  });
  return {good, findingsOf(diags)};
}

std::pair<bool, Findings> runExecutor(PyExecutor &self) {
  Diagnostics diags;
  bool good = unlocked(diags, [&](Diagnostics &d) {
    std::lock_guard lock(self.mutex);
    return self.executor->run(d);
  });
  return {good, findingsOf(diags)};
}

/// (dtype, shape, bytes) of each output of the last run.
std::vector<std::tuple<std::string, std::vector<int64_t>, nb::bytes>> outputsOf(PyExecutor &self) {
  std::vector<std::tuple<std::string, std::vector<int64_t>, nb::bytes>> out;
  for (size_t i = 0; i < self.executor->metadata().outputs.size(); ++i) {
    NpyArray a = self.executor->output(i);
    out.emplace_back(dtypeName(a.dtype), a.shape, nb::bytes(a.bytes.data(), a.bytes.size()));
  }
  return out;
}

nb::dict statisticsOf(PyExecutor &self) {
  nb::list cores;
  for (const sim::CoreCounters &c : self.executor->statistics().cores) {
    nb::dict core;
    core["retired"] = c.retired;
    core["instructions"] = nb::cast(c.instructions);
    core["csr_writes"] = c.csrWrites;
    core["mme_cycles"] = c.mmeCycles;
    core["vme_cycles"] = c.vmeCycles;
    core["mte_bytes"] = c.mteBytes;
    cores.append(core);
  }
  nb::dict out;
  out["simulation_seconds"] = self.executor->statistics().npuSeconds;
  out["host_seconds"] = self.executor->statistics().hostSeconds;
  out["cores"] = cores;
  return out;
}

} // namespace

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);
  m.def("version", [] { return std::string(version()); });
  m.def("option_names", &optionNames);
  m.def("known_passes", &knownPasses);

  nb::class_<PyModel>(m, "Model")
      .def_static("from_onnx", &fromOnnx, nb::arg("path"), nb::arg("shapes"))
      .def("inputs", [](const PyModel &self) { return infoOf(self.model->inputs()); })
      .def("outputs", [](const PyModel &self) { return infoOf(self.model->outputs()); })
      .def("set_input_shapes", &setInputShapes, nb::arg("shapes"))
      .def("relay_text", [](const PyModel &self) { return self.model->relayText(); })
      .def("compile", &compileModel, nb::arg("output_file"), nb::arg("options"));

  nb::class_<PyExecutor>(m, "Executor")
      .def_static("load", &loadExecutor, nb::arg("path"), nb::arg("checks"))
      .def("inputs", [](const PyExecutor &self) { return infoOf(self.executor->metadata().inputs); })
      .def("outputs", [](const PyExecutor &self) { return infoOf(self.executor->metadata().outputs); })
      .def("set_inputs", &setInputs, nb::arg("arrays"))
      .def("run", &runExecutor)
      .def("results", &outputsOf)
      .def("statistics", &statisticsOf);
}
