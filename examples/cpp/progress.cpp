// examples/cpp/progress.cpp -- draws the progress bar.
#include "examples/cpp/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {
constexpr int kWidth = 24;
constexpr int kTextWidth = 71;  // what stands beside the bar, and one column for the cursor
constexpr std::chrono::milliseconds kBetweenDraws{50};

/// Room for the bar: a line that wraps could not be drawn over.
int bar_width(bool is_terminal) {
  winsize size{};
  if (!is_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kWidth;
  return std::clamp(size.ws_col - kTextWidth, 2, kWidth);
}

}  // namespace

Progress::Progress(int64_t total) : total_(total), is_terminal_(isatty(STDOUT_FILENO) != 0) {}

void Progress::update(int64_t samples, double loss, double accuracy) {
  done_ += samples;
  const Clock::time_point now = Clock::now();
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  const bool is_due = is_terminal_ ? now - drawn_at_ >= kBetweenDraws : share >= next_line_ - 1e-9;
  if (!is_due && done_ < total_) return;
  drawn_at_ = now;
  next_line_ = share + 0.1;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string text = line(share, loss, accuracy, seconds);
  std::printf(is_terminal_ ? "\r%s\x1b[K" : "%s\n", text.c_str());
  std::fflush(stdout);
}

void Progress::close() const {
  if (is_terminal_) std::printf("\n");
}

std::string Progress::line(double share, double loss, double accuracy, double seconds) const {
  const int width = bar_width(is_terminal_);
  const int filled = static_cast<int>(std::lround(width * share));
  const double speed = static_cast<double>(done_) / std::max(seconds, 1e-9);
  const double left = static_cast<double>(total_ - done_) / std::max(speed, 1e-9);
  const std::string bar = std::string(static_cast<size_t>(filled), '#') +
                          std::string(static_cast<size_t>(width - filled), '.');
  char text[160];
  std::snprintf(text, sizeof text,
                "[%s] %3.0f%%  loss %6.4f  accuracy %5.1f%%  %9.0f samples/s  %3.0f s left",
                bar.c_str(), 100 * share, loss, 100 * accuracy, speed, left);
  return text;
}
