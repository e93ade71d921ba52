// benchmarks/autograd/engine_bench.cpp -- what running and destroying a recorded graph costs.
//
// Times are per node, of this thread's own clock: it runs around one phase only, and the sum is
// divided by the number of nodes. Chains of 10,000,000 nodes are measured by `ebb_count deep`
// (benchmarks/count).
#include <benchmark/benchmark.h>

#include <vector>

#include "benchmarks/bench_support.h"
#include "ebb/autograd/engine/engine.h"

namespace ebb::bench {
namespace {

// Building, running and destroying v = v + c over 64 floats.
enum class Phase { build, backward, destroy };

void run_chain(benchmark::State& state, Phase timed) {
  const int64_t nodes = state.range(0);
  const Tensor x = leaf(kFlat64, 1.0), c = filled(kFlat64, 0.0), seed = filled(kFlat64, 3.0);
  for (auto _ : state) {
    double seconds[3];
    double start = thread_seconds();
    Tensor end = chain_of_adds(x, c, nodes);
    seconds[0] = seconds_since(start);
    start = thread_seconds();
    backward(end, seed);
    seconds[1] = seconds_since(start);
    start = thread_seconds();
    end = Tensor();
    seconds[2] = seconds_since(start);
    check(first_of(grad_of(x)) == 3.0f, "backward over a chain");
    set_grad(x, {});
    state.SetIterationTime(seconds[static_cast<int>(timed)] / static_cast<double>(nodes));
  }
}

// Question: what does recording a node cost while the graph grows?
void bench_chain_build(benchmark::State& state) { run_chain(state, Phase::build); }
// Question: what does the engine take per node?
void bench_chain_backward(benchmark::State& state) { run_chain(state, Phase::backward); }
// Question: and what does it cost to drop the graph afterwards?
void bench_chain_destroy(benchmark::State& state) { run_chain(state, Phase::destroy); }

// The reported time is per node, so the number of iterations has to be set by hand.
BENCHMARK(bench_chain_build)->Arg(1'000)->Iterations(300)->UseManualTime();
BENCHMARK(bench_chain_build)->Arg(100'000)->Iterations(5)->UseManualTime();
BENCHMARK(bench_chain_backward)->Arg(1'000)->Iterations(300)->UseManualTime();
BENCHMARK(bench_chain_backward)->Arg(100'000)->Iterations(5)->UseManualTime();
BENCHMARK(bench_chain_destroy)->Arg(1'000)->Iterations(300)->UseManualTime();
BENCHMARK(bench_chain_destroy)->Arg(100'000)->Iterations(5)->UseManualTime();

// Question: what does one whole backward call cost over a graph of one node?
void bench_backward_of_one_node(benchmark::State& state) {
  constexpr int kGraphs = 32;  // a batch, since reading the clock costs as much as one call
  std::vector<Tensor> leaves, roots(kGraphs);
  for (int i = 0; i < kGraphs; ++i) leaves.push_back(leaf(kOne, 1.0));
  const Tensor c = filled(kOne, 2.0);
  for (auto _ : state) {
    for (int i = 0; i < kGraphs; ++i) {
      set_grad(leaves[static_cast<size_t>(i)], {});
      roots[static_cast<size_t>(i)] = leaves[static_cast<size_t>(i)] + c;
    }
    const double start = thread_seconds();
    for (const Tensor& root : roots) backward(root);
    state.SetIterationTime(seconds_since(start) / kGraphs);
  }
  check(first_of(grad_of(leaves[0])) == 1.0f, "backward over one node");
}
BENCHMARK(bench_backward_of_one_node)->Iterations(5'000)->UseManualTime();

// Question: what does a node cost when each runs a kernel or two and sums into a leaf?
void bench_backward_mul_by_leaf(benchmark::State& state) {
  const int64_t nodes = state.range(0);
  const Tensor x = leaf(kFlat64, 1.0), y = leaf(kFlat64, 1.0), seed = filled(kFlat64, 1.0);
  for (auto _ : state) {
    Tensor end = x;
    for (int64_t i = 0; i < nodes; ++i) end = end * y;
    const double start = thread_seconds();
    backward(end, seed);
    state.SetIterationTime(seconds_since(start) / static_cast<double>(nodes));
    check(first_of(grad_of(y)) == static_cast<float>(nodes), "backward over products");
    set_grad(x, {});
    set_grad(y, {});
  }
}
BENCHMARK(bench_backward_mul_by_leaf)->Arg(1'000)->Iterations(300)->UseManualTime();

// Question: what does a leaf with many users cost?
void bench_fan_in(benchmark::State& state) {
  const int64_t nodes = state.range(0);
  const Tensor x = leaf(kFlat64, 1.0), seed = filled(kFlat64, 1.0);
  for (auto _ : state) {
    const Tensor end = chain_of_adds(x, x, nodes);
    const double start = thread_seconds();
    backward(end, seed);
    state.SetIterationTime(seconds_since(start) / static_cast<double>(nodes));
    check(first_of(grad_of(x)) == static_cast<float>(nodes + 1), "a sum of gradients");
    set_grad(x, {});
  }
}
BENCHMARK(bench_fan_in)->Arg(1'000)->Iterations(300)->UseManualTime();

}  // namespace
}  // namespace ebb::bench
