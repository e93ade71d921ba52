// benchmarks/kernels/kernels_bench.cpp -- question: what do kernels cost, small, in cache and
// beyond?
//
// The second argument is the number of threads. Kernels are called as the op layer does, through
// their tables.
#include <benchmark/benchmark.h>

#include <vector>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/register.h"
#include "ebb/kernels/tables/add.h"
#include "ebb/kernels/tables/exp.h"
#include "ebb/kernels/tables/index_add.h"
#include "ebb/kernels/tables/log.h"
#include "ebb/kernels/tables/log_softmax.h"
#include "ebb/kernels/tables/matmul.h"
#include "ebb/kernels/tables/mul.h"
#include "ebb/kernels/tables/sum.h"
#include "ebb/kernels/tables/tanh.h"

namespace {

using ebb::DType;
using namespace ebb::kernels;  // NOLINT: a benchmark of exactly this

/// A float32 matrix filled with small numbers, and its view.
struct Matrix {
  std::vector<float> values;
  int64_t sizes[2];
  int64_t strides[2];

  Matrix(int64_t rows, int64_t columns) : sizes{rows, columns}, strides{columns, 1} {
    for (int64_t i = 0; i < rows * columns; ++i) values.push_back(0.001f * float(i % 1009));
  }
  TensorView view() {
    return {values.data(), sizes, strides, sizes[0] * sizes[1], 2, DType::float32, true};
  }
};

const Context kContext{};

void start(const benchmark::State& state) {
  register_cpu_kernels();
  ebb::set_num_threads(state.range(1));
}

void report_bytes(benchmark::State& state, int64_t per_element) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * per_element);
}

void bench_binary(benchmark::State& state, const KernelTable<BinaryKernel>& table) {
  start(state);
  Matrix x(1, state.range(0)), y(1, state.range(0)), z(1, state.range(0));
  const auto kernel = table.find_cpu(DType::float32);
  const TensorView a = x.view(), b = y.view(), out = z.view();
  for (auto _ : state) kernel(kContext, a, b, out);
  report_bytes(state, 12);
}
void bench_unary(benchmark::State& state, const KernelTable<UnaryKernel>& table) {
  start(state);
  Matrix x(1, state.range(0)), z(1, state.range(0));
  const auto kernel = table.find_cpu(DType::float32);
  const TensorView a = x.view(), out = z.view();
  for (auto _ : state) kernel(kContext, a, out);
  report_bytes(state, 8);
}
void bench_add(benchmark::State& state) { bench_binary(state, add_kernels); }
void bench_mul(benchmark::State& state) { bench_binary(state, mul_kernels); }
void bench_exp(benchmark::State& state) { bench_unary(state, exp_kernels); }
void bench_tanh(benchmark::State& state) { bench_unary(state, tanh_kernels); }
void bench_log(benchmark::State& state) { bench_unary(state, log_kernels); }

/// A row added to every row of a matrix with 64 columns.
void bench_add_row(benchmark::State& state) {
  start(state);
  Matrix x(state.range(0) / 64, 64), y(1, 64), z(state.range(0) / 64, 64);
  const auto kernel = add_kernels.find_cpu(DType::float32);
  const TensorView a = x.view(), b = y.view(), out = z.view();
  for (auto _ : state) kernel(kContext, a, b, out);
  report_bytes(state, 8);
}

void bench_sum_to(benchmark::State& state, Matrix& input, Matrix& result) {
  start(state);
  const auto kernel = sum_kernels.find_cpu(DType::float32);
  const TensorView in = input.view(), out = result.view();
  for (auto _ : state) kernel(kContext, in, out);
  report_bytes(state, 4);
}
void bench_sum(benchmark::State& state) {
  Matrix input(1, state.range(0)), result(1, 1);
  bench_sum_to(state, input, result);
}
void bench_sum_columns(benchmark::State& state) {
  Matrix input(state.range(0) / 64, 64), result(1, 64);
  bench_sum_to(state, input, result);
}
void bench_sum_rows(benchmark::State& state) {
  Matrix input(state.range(0) / 64, 64), result(state.range(0) / 64, 1);
  bench_sum_to(state, input, result);
}

void bench_log_softmax(benchmark::State& state) {
  start(state);
  const int64_t classes = state.range(0) > 1000 ? 1024 : 10;
  Matrix x(state.range(0) / classes, classes), z(state.range(0) / classes, classes);
  const auto kernel = log_softmax_kernels.find_cpu(DType::float32);
  const TensorView a = x.view(), out = z.view();
  for (auto _ : state) kernel(kContext, a, 1, out);
  report_bytes(state, 8);
}

/// Rows of 64 numbers added to 1000 rows.
void bench_index_add(benchmark::State& state, int64_t width) {
  start(state);
  const int64_t count = state.range(0) / width, stride = 1;
  Matrix src(count, width), out(1000, width);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back(i * 7919 % 1000);
  const TensorView index{indices.data(), &count, &stride, count, 1, DType::int64, true};
  const auto kernel = index_add_kernels.find_cpu(DType::float32);
  const TensorView from = src.view(), to = out.view();
  for (auto _ : state) kernel(kContext, index, from, 0, ebb::Scalar(1), to);
  report_bytes(state, 12);
}
void bench_index_add_rows(benchmark::State& state) { bench_index_add(state, 64); }
void bench_index_add_numbers(benchmark::State& state) { bench_index_add(state, 1); }

void bench_matmul(benchmark::State& state) {
  start(state);
  const int64_t side = state.range(0);
  Matrix x(side, side), y(side, side), z(side, side);
  const auto kernel = matmul_kernels.find_cpu(DType::float32);
  const TensorView a = x.view(), b = y.view(), out = z.view();
  for (auto _ : state) kernel(kContext, a, b, out);
  const double flops = 2.0 * static_cast<double>(side * side * side);
  state.counters["GFLOPS"] = benchmark::Counter(
      1e-9 * flops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

constexpr int64_t kLarge = int64_t{1} << 22;
void sizes(benchmark::internal::Benchmark* bench) {
  bench->Args({64, 1})->Args({1 << 14, 1})->Args({kLarge, 1})->Args({kLarge, 2})->UseRealTime();
}
BENCHMARK(bench_add)->Apply(sizes);
BENCHMARK(bench_mul)->Apply(sizes);
BENCHMARK(bench_exp)->Apply(sizes);
BENCHMARK(bench_tanh)->Apply(sizes);
BENCHMARK(bench_log)->Apply(sizes);
BENCHMARK(bench_add_row)->Apply(sizes);
BENCHMARK(bench_sum)->Apply(sizes);
BENCHMARK(bench_sum_columns)->Apply(sizes);
BENCHMARK(bench_sum_rows)->Apply(sizes);
BENCHMARK(bench_log_softmax)->Apply(sizes);
BENCHMARK(bench_index_add_rows)->Apply(sizes);
BENCHMARK(bench_index_add_numbers)->Apply(sizes);
BENCHMARK(bench_matmul)
    ->Args({8, 1})
    ->Args({64, 1})
    ->Args({1024, 1})
    ->Args({1024, 2})
    ->UseRealTime();

}  // namespace
