// benchmarks/bench_support.h -- what the benchmarks share: fixed tensors, checked results, chains.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops.h"
#include "ebb/autograd/variable.h"

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

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace ebb::bench
