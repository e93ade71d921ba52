// benchmarks/autograd/record_bench.cpp -- what one op costs, recorded and not recorded.
//
// Reference counts are plain until the process has a second thread. With EBB_BENCH_SECOND_THREAD
// set one is started before anything runs, so that both cases can be measured.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <thread>

#include "benchmarks/bench_support.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/core/base/location.h"

namespace ebb::bench {
namespace {

const bool has_second_thread = [] {
  const bool is_wanted = std::getenv("EBB_BENCH_SECOND_THREAD") != nullptr;
  if (is_wanted) std::thread([] {}).join();
  return is_wanted;
}();

// Question: what does `Tensor z = x + y;` with its destruction cost when nobody asks for a
// gradient?
void bench_add_not_recorded(benchmark::State& state) {
  const Tensor x = filled(kSmall, 1.0), y = filled(kSmall, 2.0);
  check(first_of(x + y) == 3.0f, "add");
  for (auto _ : state) {
    const Tensor z = x + y;
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_add_not_recorded);

// Question: what does no_grad save?
void bench_add_under_no_grad(benchmark::State& state) {
  const Tensor x = leaf(kSmall, 1.0), y = leaf(kSmall, 2.0);
  const NoGradGuard guard;
  check(!(x + y).requires_grad(), "no_grad");
  for (auto _ : state) {
    const Tensor z = x + y;
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_add_under_no_grad);

// Question: what does it cost when a node with two edges is recorded and dropped again?
void bench_add_recorded(benchmark::State& state) {
  const Tensor x = leaf(kSmall, 1.0), y = leaf(kSmall, 2.0);
  check((x + y).requires_grad(), "recorded add");
  for (auto _ : state) {
    const Tensor z = x + y;
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_add_recorded);

// Question: what of it is finding the line that called? Here that is told beforehand.
void bench_add_recorded_location_told(benchmark::State& state) {
  const Tensor x = leaf(kSmall, 1.0), y = leaf(kSmall, 2.0);
  const LocationScope told(intern_location(1, 0, false));
  for (auto _ : state) {
    const Tensor z = x + y;
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_add_recorded_location_told);

// Question: what do two saved operands add?
void bench_mul_recorded(benchmark::State& state) {
  const Tensor x = leaf(kSmall, 1.0), y = leaf(kSmall, 2.0);
  check(first_of(x * y) == 2.0f, "mul");
  for (auto _ : state) {
    const Tensor z = x * y;
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_mul_recorded);

// Question: what does a number as operand cost?
void bench_mul_by_scalar_recorded(benchmark::State& state) {
  const Tensor x = leaf(kSmall, 1.5);
  check(first_of(x * 2.0) == 3.0f, "mul by a scalar");
  for (auto _ : state) {
    const Tensor z = x * 2.0;
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_mul_by_scalar_recorded);

// Question: what does writing in place cost?
void bench_add_in_place(benchmark::State& state) {
  const Tensor x = filled(kSmall, 0.0), y = filled(kSmall, 0.0);
  for (auto _ : state) {
    add_(x, y);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(bench_add_in_place);

// Question: what does the op around a small matrix product cost?
void bench_matmul_recorded(benchmark::State& state) {
  const Tensor x = leaf(kSmall, 1.0), y = leaf(kSmall, 2.0);
  check(first_of(matmul(x, y)) == 16.0f, "matmul");
  for (auto _ : state) {
    const Tensor z = matmul(x, y);
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_matmul_recorded);

// Question: and a fused layer of a small network (batch 32, 64 to 128)?
void bench_linear_recorded(benchmark::State& state) {
  const int64_t batch[] = {32, 64}, weights[] = {128, 64}, outputs[] = {128};
  const Tensor x = filled(batch, 1.0), w = leaf(weights, 0.5), b = leaf(outputs, 1.0);
  check(first_of(linear(x, w, b)) == 33.0f, "linear");
  for (auto _ : state) {
    const Tensor z = linear(x, w, b);
    benchmark::DoNotOptimize(z.impl());
  }
}
BENCHMARK(bench_linear_recorded);

// Question: what does a view cost when it is recorded?
void bench_select_recorded(benchmark::State& state) {
  const Tensor x = leaf(kSmall, 1.0);
  check(select(x, 0, 0).ndim() == 1, "select");
  for (auto _ : state) {
    const Tensor row = select(x, 0, 0);
    benchmark::DoNotOptimize(row.impl());
  }
}
BENCHMARK(bench_select_recorded);

}  // namespace
}  // namespace ebb::bench
