#include "Progress.h"
#include <algorithm>
#include <cstdio>
#include <unistd.h>

using namespace tensorturbo::cli;

Progress::Progress() : terminal(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn)
    std::fputs("\r\033[K", stderr);
}

void Progress::show(const std::string &phase, double done) {
  if (!terminal)
    return;
  auto now = std::chrono::steady_clock::now();
  if (phase == lastPhase && now - lastDraw < std::chrono::milliseconds(100))
    return;
  constexpr int width = 30;
  double part = std::clamp(done, 0.0, 1.0);
  int filled = static_cast<int>(part * width);
  std::string bar =
      std::string(static_cast<size_t>(filled), '=') + std::string(static_cast<size_t>(width - filled), ' ');
  std::fprintf(stderr, "\r\033[K[%s] %3d %%  %s", bar.c_str(), static_cast<int>(part * 100), phase.c_str());
  std::fflush(stderr);
  drawn = true;
  lastPhase = phase;
  lastDraw = now;
}
