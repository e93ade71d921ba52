// benchmarks/core/allocator_bench.cpp -- what a block of memory costs.
#include <benchmark/benchmark.h>

#include <vector>

#include "ebb/core/runtime/allocator.h"

namespace ebb {
namespace {

// Question: what does a pair of allocate and deallocate cost when the block was just given back?
// 112 is a node, 304 a tensor of 64 floats with its header, the rest go past the free lists.
void bench_allocate_pair(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* const block = allocate(bytes);
    benchmark::DoNotOptimize(block);
    deallocate(block, bytes);
  }
}
BENCHMARK(bench_allocate_pair)->Arg(112)->Arg(304)->Arg(4 << 10)->Arg(1 << 20)->Arg(64 << 20);

// Question: and when a thousand blocks are taken before the first comes back, so that magazines are
// swapped with the central list?
void bench_allocate_thousand(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<void*> blocks(1000);
  for (auto _ : state) {
    for (void*& block : blocks) block = allocate(bytes);
    for (void* const block : blocks) deallocate(block, bytes);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(blocks.size()));
}
BENCHMARK(bench_allocate_thousand)->Arg(112)->Arg(304)->Arg(4 << 10);

}  // namespace
}  // namespace ebb
