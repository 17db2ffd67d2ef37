// Runs conformance records on the functional model.
#pragma once
#include "VectorFile.h"
#include "simulator/Machine.h"
#include <map>
#include <memory>

namespace tensorturbo::vectors {

class VectorRunner {
public:
  /// Empty if the model does what the record says, else what it did instead.
  std::string run(const Record &record);
  std::string run(const ProgramRecord &record);
  /// All 65,536 halves through an instruction with one source; `expected` are the results in order.
  std::string runSweep(const std::string &mnemonic, const std::vector<uint16_t> &expected);

private:
  /// The machine with that many cores; 0: one core, for single instructions, never reset.
  sim::Machine &machine(int cores);
  /// Registers, CSRs, vector type and memory of a core before an instruction.
  std::string prepare(sim::Machine &m, int core, const Exec &exec);
  /// Compares the outcome; `result` is Done after a wait.
  std::string compare(sim::Machine &m, int core, const Exec &exec, const sim::StepResult &result);
  std::string runSingle(const Record &record);
  std::string runCores(const Record &record);

  std::map<int, std::unique_ptr<sim::Machine>> machines;
};

} // namespace tensorturbo::vectors
