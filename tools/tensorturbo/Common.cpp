#include "Commands.h"
#include <cstdio>

using namespace tensorturbo;

int cli::finish(const Diagnostics &diags) {
  std::string text = diags.render();
  std::fwrite(text.data(), 1, text.size(), stderr);
  return diags.exitCode();
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

NpzArrays cli::readInputs(const std::vector<std::string> &arguments, Diagnostics &diags) {
  NpzArrays all;
  auto add = [&](const std::string &name, NpyArray array) {
    if (!all.emplace(name, std::move(array)).second)
      diags.userError("input " + quoteForMessage(name) + " is given twice");
  };
  for (const std::string &argument : arguments) {
    size_t equals = argument.find('=');
    bool named = equals != std::string::npos && endsWith(argument, ".npy");
    if (named) {
      if (auto array = readNpy(argument.substr(equals + 1), diags))
        add(argument.substr(0, equals), std::move(*array));
    } else if (endsWith(argument, ".npz")) {
      if (auto arrays = readNpz(argument, diags))
        for (auto &[name, array] : *arrays)
          add(name, std::move(array));
    } else {
      diags.userError("cannot tell what input " + quoteForMessage(argument) + " is", {},
                      "give name=array.npy for one input, or arrays.npz with one array for each input name");
    }
  }
  return all;
}

std::map<std::string, runtime::TensorView> cli::viewsOf(const NpzArrays &arrays) {
  std::map<std::string, runtime::TensorView> views;
  for (const auto &[name, array] : arrays)
    views[name] = {array.dtype, array.shape, array.bytes.data()};
  return views;
}

std::string cli::typeText(const std::vector<int64_t> &shape, DType dtype) {
  std::string out;
  for (int64_t d : shape)
    out += (out.empty() ? "" : "x") + std::to_string(d);
  return (out.empty() ? "scalar" : out) + " " + dtypeName(dtype);
}

std::string cli::sizeText(uint64_t bytes) {
  char text[32];
  if (bytes < 1024)
    std::snprintf(text, sizeof text, "%llu B", static_cast<unsigned long long>(bytes));
  else if (bytes < 1024 * 1024)
    std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
  else
    std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / (1024 * 1024));
  return text;
}

std::string cli::plain(const std::string &text) {
  std::string quoted = quoteForMessage(text, 200);
  return quoted.substr(1, quoted.size() - 2);
}
