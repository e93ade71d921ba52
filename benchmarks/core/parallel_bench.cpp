// benchmarks/core/parallel_bench.cpp -- what handing work to the thread pool costs.
#include <benchmark/benchmark.h>

#include <atomic>

#include "ebb/core/runtime/parallel.h"

namespace ebb {
namespace {

// Question: what does parallel_for cost besides the work, by number of pieces and of threads?
void bench_empty_pieces(benchmark::State& state) {
  const int64_t pieces = state.range(0);
  set_num_threads(state.range(1));
  std::atomic<int64_t> ran = 0;
  for (auto _ : state) {
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      ran.fetch_add(end - begin, std::memory_order_relaxed);
    });
  }
  if (ran != pieces * static_cast<int64_t>(state.iterations())) {
    state.SkipWithError("pieces were lost");
  }
  set_num_threads(1);
}
BENCHMARK(bench_empty_pieces)->ArgsProduct({{1, 2, 16, 256}, {1, 2}})->UseRealTime();

}  // namespace
}  // namespace ebb
