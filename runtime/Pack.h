// Stand-alone programs: an object file together with its inputs, for any simulator of the chip.
#pragma once
#include "runtime/Executor.h"

namespace tensorturbo::runtime {

/// Name of the section that tells where the outputs lie: one ELF note of owner "TensorTurbo", type 1, whose
/// description is JSON: [{"name", "address", "bytes", "dtype", "shape"}].
inline constexpr const char *outputsNote = ".note.tensorturbo.outputs";

/// Writes a plain ELF executable that starts from reset on all cores, runs the model once on `inputs` and
/// ends through `tohost`. Models with a part on the host are refused.
bool packWithInputs(const std::string &objectPath, const std::map<std::string, TensorView> &inputs,
                    const std::string &outputPath, Diagnostics &diags);

} // namespace tensorturbo::runtime
