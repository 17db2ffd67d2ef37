// A progress bar on stderr, for terminals only.
#pragma once
#include <chrono>
#include <string>

namespace tensorturbo::cli {

class Progress {
public:
  Progress();
  /// Removes the bar.
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// `done` goes from 0 to 1. Quick changes are not drawn.
  void show(const std::string &phase, double done);

private:
  bool terminal;
  bool drawn = false;
  std::string lastPhase;
  std::chrono::steady_clock::time_point lastDraw;
};

} // namespace tensorturbo::cli
