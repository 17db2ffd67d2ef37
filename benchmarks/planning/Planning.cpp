// tt-planning FOLDER...: how the memory planner does on recorded problems (.json, .csv), as a table.
#include "Schedule/MemoryPlan.h"
#include "Schedule/PlanSearch.h"
#include "Support/File.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace tensorturbo;
using namespace tensorturbo::schedule;
namespace fs = std::filesystem;

namespace {

/// Capacity of the problems in MiniMalloc's format; theirs stands in the file names.
constexpr uint64_t csvCapacity = 1048576;

std::optional<MemoryProblem> read(const fs::path &path, Diagnostics &diags) {
  auto file = MappedFile::open(path.string(), diags);
  if (!file)
    return std::nullopt;
  std::string_view text(reinterpret_cast<const char *>(file->data()), file->size());
  return path.extension() == ".csv" ? MemoryProblem::fromCsv(text, csvCapacity, diags)
                                    : MemoryProblem::fromJson(text, diags);
}

double ratio(uint64_t peak, uint64_t bound) {
  return double(peak) / double(std::max<uint64_t>(bound, 1));
}

bool row(const fs::path &path, uint64_t maxSteps, Diagnostics &diags) {
  auto problem = read(path, diags);
  if (!problem)
    return false;
  MemoryPlanOptions greedy;
  greedy.maxSteps = 0;
  greedy.exactSteps = 0;
  MemoryPlanOptions climb;
  climb.exactSteps = 0;
  uint64_t bound = problem->lowerBound();
  uint64_t greedyPeak = planMemory(*problem, greedy).peak;
  MemoryPlan plan = planMemory(*problem, climb);
  uint64_t climbPeak = plan.peak;
  auto start = std::chrono::steady_clock::now();
  PlanSearchResult exact = searchPlan(*problem, problem->capacity, maxSteps);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (exact.outcome == PlanSearchResult::Found)
    plan = exact.plan;
  static const char *const words[] = {"fits", "impossible", "gave up"};
  std::printf("%-32s %7zu %11llu %9.4f %7.3f %7.3f %-10s %14llu %8.2f\n", path.filename().c_str(),
              problem->buffers.size(), static_cast<unsigned long long>(problem->capacity),
              ratio(bound, problem->capacity), ratio(greedyPeak, bound), ratio(climbPeak, bound),
              words[exact.outcome], static_cast<unsigned long long>(exact.steps), seconds);
  // What does not fit is no finding here; overlaps are.
  MemoryProblem unbounded = *problem;
  unbounded.capacity = std::max(unbounded.capacity, plan.peak);
  return checkMemoryPlan(unbounded, plan, diags);
}

} // namespace

int main(int argc, char **argv) {
  uint64_t maxSteps = 3'000'000'000;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--steps" && i + 1 < argc) {
      maxSteps = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    std::error_code error;
    for (const auto &entry : fs::recursive_directory_iterator(argv[i], error))
      if (entry.path().extension() == ".csv" || entry.path().extension() == ".json")
        files.push_back(entry.path());
    if (error) {
      std::fprintf(stderr, "error: %s: %s\n", argv[i], error.message().c_str());
      return 1;
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: tt-planning [--steps N] FOLDER...   (benchmarks/planning)\n");
    return 1;
  }
  std::sort(files.begin(), files.end());
  std::printf("%-32s %7s %11s %9s %7s %7s %-10s %14s %8s\n", "problem", "buffers", "capacity", "bound/cap",
              "greedy", "climb", "exact", "steps", "seconds");
  Diagnostics diags;
  bool good = true;
  for (const fs::path &file : files)
    good = row(file, maxSteps, diags) && good;
  if (!good)
    std::fprintf(stderr, "%s", diags.render().c_str());
  return good ? 0 : 1;
}
