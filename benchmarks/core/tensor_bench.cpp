// benchmarks/core/tensor_bench.cpp -- what making, sharing and viewing a tensor costs, without ops.
#include <benchmark/benchmark.h>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {
namespace {

const int64_t kSizes[] = {8, 8};

// Question: what does an 8x8 tensor cost from birth to death?
void bench_empty(benchmark::State& state) {
  for (auto _ : state) {
    const Tensor made = empty(kSizes, DType::float32);
    benchmark::DoNotOptimize(made.impl());
  }
}
BENCHMARK(bench_empty);

// Question: what does a second handle to a tensor cost?
void bench_share(benchmark::State& state) {
  const Tensor tensor = empty(kSizes, DType::float32);
  for (auto _ : state) {
    const Tensor copy = tensor;
    benchmark::DoNotOptimize(copy.impl());
  }
}
BENCHMARK(bench_share);

// Question: what does a view cost, the op around it left out?
void bench_view(benchmark::State& state) {
  const Tensor base = empty(kSizes, DType::float32);
  const int64_t sizes[] = {8};
  const int64_t strides[] = {1};
  for (auto _ : state) {
    const Tensor row = make_view(base, sizes, strides, 0);
    benchmark::DoNotOptimize(row.impl());
  }
}
BENCHMARK(bench_view);

}  // namespace
}  // namespace ebb
