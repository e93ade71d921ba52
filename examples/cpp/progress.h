// examples/cpp/progress.h -- a progress bar: one line on a terminal, plain lines in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

/// Counts samples and shows loss, accuracy, speed and the time that is left.
class Progress {
 public:
  explicit Progress(int64_t total);
  /// Counts `samples` more; shows loss and accuracy (0 to 1) now and then.
  void update(int64_t samples, double loss, double accuracy);
  /// Ends the line.
  void close() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(double share, double loss, double accuracy, double seconds) const;

  int64_t total_;
  int64_t done_ = 0;
  bool is_terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_at_{};
  double next_line_ = 0.1;  // share of the work after which a log gets its next line
};
