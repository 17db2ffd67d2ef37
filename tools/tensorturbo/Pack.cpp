#include "runtime/Pack.h"
#include "Commands.h"

using namespace tensorturbo;

void cli::addPack(CLI::App &app, int &exitCode) {
  struct Arguments {
    std::string object, output;
    std::vector<std::string> inputs;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = app.add_subcommand(
      "pack", "Make a stand-alone program that carries its inputs, for any simulator of the chip");
  command->add_option("object", arguments->object, "the .stcobj file")->required();
  command
      ->add_option("--with-input", arguments->inputs,
                   "NAME=array.npy, or arrays.npz with one array for each input")
      ->allow_extra_args(false);
  command->add_option("-o,--output", arguments->output, "the ELF file to write")->required();
  command->callback([arguments, &exitCode] {
    Diagnostics diags;
    NpzArrays arrays = readInputs(arguments->inputs, diags);
    if (!diags.hasErrors())
      runtime::packWithInputs(arguments->object, viewsOf(arrays), arguments->output, diags);
    exitCode = finish(diags);
  });
}
