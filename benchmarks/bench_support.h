// benchmarks/bench_support.h -- what the benchmarks share: fixed tensors, checked results, chains.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/full.h"

namespace ebb::bench {

inline Tensor filled(IntSpan sizes, double value) { return full(sizes, value, DType::float32); }

/// A tensor that wants a gradient.
inline Tensor leaf(IntSpan sizes, double value) { return requires_grad_(filled(sizes, value)); }

inline const int64_t kSmall[] = {8, 8};
inline const int64_t kFlat64[] = {64};
inline const int64_t kOne[] = {1};

/// A benchmark that times a wrong result is worth nothing: ends the program.
inline void check(bool is_right, const char* what) {
  if (!is_right) throw std::runtime_error(std::string("benchmark: wrong result of ") + what);
}

inline float first_of(const Tensor& tensor) { return *tensor.data<float>(); }

/// v = v + c, `count` times: the outputs in between die, their nodes stay.
inline Tensor chain_of_adds(const Tensor& start, const Tensor& constant, int64_t count) {
  Tensor value = start;
  for (int64_t i = 0; i < count; ++i) value = value + constant;
  return value;
}

/// Time that this thread has been running, in seconds. A busy machine's other work does not count.
inline double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What two readings of the clock in a row are apart (a system call): to be taken off short times.
inline double clock_overhead() {
  static const double overhead = [] {
    std::array<double, 101> samples;
    for (double& sample : samples) {
      const double start = thread_seconds();
      sample = thread_seconds() - start;
    }
    std::nth_element(samples.begin(), samples.begin() + 50, samples.end());
    return samples[50];
  }();
  return overhead;
}

/// Seconds of this thread's time since `start`, a former thread_seconds().
inline double seconds_since(double start) {
  return std::max(thread_seconds() - start - clock_overhead(), 0.0);
}

}  // namespace ebb::bench
