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
  /// Input whose place the (only) output may take, for each core reads there only what it writes itself; -1:
  /// none.
  int inPlace = -1;
};

struct StageProblem {
  int64_t batch = 1;
  std::vector<StageStep> steps;
  std::vector<StageTensor> tensors;
  /// Memory and rates (bytes a cycle), and what starting a kernel costs (cycles).
  int64_t llbBytes = int64_t(8) << 20;
  double ddrBytesPerCycle = 27, llbBytesPerCycle = 256, kernelCycles = 3000;
};

/// A run of steps that is executed `parts` times in all, each time on batch / parts images.
struct Stage {
  int first = 0, last = 0;
  int64_t parts = 1;
};

/// Stages whose parts do not grow form a nest: of the run
///
///   stage 0 in 8 parts, stage 1 in 4, stage 2 in 1     for i < 4 { for j < 2 { stage 0 }; stage 1 }; stage 2
///
/// A tensor that passes from one stage to another of its nest is needed for the images of the coarsest stage
/// it meets: its scope.
struct StagePlan {
  std::vector<Stage> stages;
  /// By tensor: it stays in LLB, with the bytes of its scope.
  std::vector<bool> resident;
  /// Estimated cycles of moving data, to compare plans.
  double cycles = 0;

  /// Number of the stage of a step.
  int stageOf(int step) const;
  /// Number of the first stage of the nest of a stage.
  int nestOf(int stage) const;
  /// Into how many parts the tensor is cut while it is resident.
  int64_t scope(const StageProblem &p, int tensor) const;
  /// Bytes that the tensor takes in LLB if it is resident.
  int64_t residentBytes(const StageProblem &p, int tensor) const;
  /// First and last step between which it must be kept: loops come back to what their stages share.
  std::pair<int, int> lifetime(const StageProblem &p, int tensor) const;
  /// The tensor whose place a resident tensor has: its own number, or that of an input it was made in place
  /// of.
  int placeOf(const StageProblem &p, int tensor) const;
  /// Bytes of LLB that resident tensors hold while each step runs.
  std::vector<int64_t> liveBytes(const StageProblem &p) const;
};

/// A plan with little traffic between DDR and LLB. There always is one: steps on their own, all tensors in
/// DDR. Depends on nothing but its argument.
StagePlan planStages(const StageProblem &problem);

} // namespace tensorturbo::schedule
