// Level 1: which tensors stay in LLB, and which runs of operators work through the batch part by part so that
// they can.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tensorturbo::schedule {

struct StageTensor {
  std::string name;
  /// Bytes for the whole batch.
  int64_t bytes = 0;
  /// Step that makes it (-1: it exists before), and the last step that reads it (number of steps: it must
  /// survive).
  int producer = -1, lastUse = -1;
  /// The first axis is the batch.
  bool batched = true;
  /// Must lie in DDR: input, output, or seen by the host.
  bool ddrOnly = false;
};

struct StageStep {
  std::vector<int> inputs, outputs;
  /// The operator treats the images of a batch apart, so that it can run on a part of them.
  bool splittable = true;
  int64_t weightBytes = 0;
};

struct StageProblem {
  int64_t batch = 1;
  std::vector<StageStep> steps;
  std::vector<StageTensor> tensors;
  /// Memory and rates (bytes a cycle), and what starting a kernel costs (cycles).
  int64_t llbBytes = int64_t(8) << 20;
  double ddrBytesPerCycle = 27, llbBytesPerCycle = 256, kernelCycles = 1500;
};

/// A run of steps that is executed `parts` times, each time on batch / parts images.
struct Stage {
  int first = 0, last = 0;
  int64_t parts = 1;
};

struct StagePlan {
  std::vector<Stage> stages;
  /// By tensor: it stays in LLB. Within its stage it then has the size of a part, else of the whole batch.
  std::vector<bool> resident;
  /// Estimated cycles of moving data, to compare plans.
  double cycles = 0;

  /// Number of the stage of a step.
  int stageOf(int step) const;
  /// Made and last used within one stage.
  bool inside(const StageProblem &p, int tensor) const;
  /// Bytes that the tensor takes in LLB if it is resident.
  int64_t residentBytes(const StageProblem &p, int tensor) const;
  /// Bytes of LLB that resident tensors hold while a step runs.
  int64_t liveBytes(const StageProblem &p, int step) const;
};

/// The cheapest plan by the traffic between DDR and LLB. There always is one: steps on their own, all tensors
/// in DDR. Depends on nothing but its argument.
StagePlan planStages(const StageProblem &problem);

} // namespace tensorturbo::schedule
