// benchmarks/core/machine_bench.cpp -- how fast the processor itself runs at the moment.
//
// A shared machine changes its clock and lends half a core at a time. Both figures together say how
// far a time measured now can be compared with one of another hour or machine.
#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

constexpr int kSteps = 1000;  // as tools/bench/runner.py says too

// Question: what is the clock? Each multiplication waits three cycles for the one before.
void bench_multiplication_chain(benchmark::State& state) {
  uint64_t value = 3;
  for (auto _ : state) {
#pragma GCC unroll 50
    for (int i = 0; i < kSteps; ++i) {
      value *= value;
      benchmark::DoNotOptimize(value);
    }
  }
  state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(bench_multiplication_chain);

// Question: how many instructions go on side by side? These additions wait for nothing.
void bench_independent_additions(benchmark::State& state) {
  uint64_t a = 1, b = 2, c = 3, d = 4, e = 5;
  for (auto _ : state) {
#pragma GCC unroll 50
    for (int i = 0; i < kSteps / 5; ++i) {
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
      a += 1, b += 1, c += 1, d += 1, e += 1;
    }
  }
  state.SetItemsProcessed(state.iterations() * kSteps);
  benchmark::DoNotOptimize(a + b + c + d + e);
}
BENCHMARK(bench_independent_additions);

}  // namespace
