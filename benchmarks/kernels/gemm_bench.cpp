// benchmarks/kernels/gemm_bench.cpp -- question: which engine runs a product of this shape fastest?
//
// Arguments: m, n, k, and whether B is transposed. docs/gemm.md is made from this.
#include <benchmark/benchmark.h>

#include <vector>

#include "ebb/kernels/cpu/gemm/gemm.h"

namespace {

using ebb::DType;
using ebb::kernels::cpu::Gemm;

template <typename T>
struct Operands {
  std::vector<T> a, b, c;
  Gemm args;

  explicit Operands(const benchmark::State& state) {
    const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
    a.assign(static_cast<size_t>(m * k), T(0.5));
    b.assign(static_cast<size_t>(k * n), T(0.25));
    c.assign(static_cast<size_t>(m * n), T(0));
    args = Gemm{m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n, false};
    if (state.range(3) != 0) args.b = {b.data(), 1, k};
  }
};

template <typename T, class Engine>
void run(benchmark::State& state, Engine engine) {
  Operands<T> operands(state);
  engine(operands.args);
  if (operands.c[0] != T(0.125) * static_cast<T>(operands.args.k)) {
    state.SkipWithError("wrong product");
    return;
  }
  for (auto _ : state) {
    engine(operands.args);
    benchmark::ClobberMemory();
  }
  const Gemm& g = operands.args;
  state.counters["GFLOPS"] =
      benchmark::Counter(2e-9 * static_cast<double>(g.m) * static_cast<double>(g.n) *
                             static_cast<double>(g.k) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void bench_openblas_float32(benchmark::State& state) {
  run<float>(state, [](const Gemm& g) { ebb::kernels::cpu::openblas_gemm(DType::float32, g); });
}
void bench_onednn_float32(benchmark::State& state) {
  run<float>(state, [](const Gemm& g) { ebb::kernels::cpu::onednn_gemm(g); });
}
void bench_openblas_float64(benchmark::State& state) {
  run<double>(state, [](const Gemm& g) { ebb::kernels::cpu::openblas_gemm(DType::float64, g); });
}

void shapes(benchmark::internal::Benchmark* bench) {
  for (const int transposed : {0, 1}) {
    for (const int side : {4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024}) {
      bench->Args({side, side, side, transposed});
    }
    bench->Args({64, 10, 64, transposed})->Args({1, 64, 64, transposed});
    bench->Args({64, 1, 64, transposed})->Args({256, 32, 32, transposed});
    bench->Args({64, 128, 64, transposed})->Args({64, 10, 128, transposed});
    bench->Args({128, 10, 64, transposed})->Args({4096, 64, 64, transposed});
    bench->Args({1, 1024, 1024, transposed})->Args({1024, 1, 1024, transposed});
    bench->Args({32, 1024, 1024, transposed});
    for (const int side : {16, 32, 64, 96, 128, 192, 256}) {
      for (const int inner : {512, 1024, 2048, 4096}) bench->Args({side, side, inner, transposed});
    }
    bench->Args({20, 1024, 256, transposed})->Args({128, 512, 784, transposed});
    bench->Args({512, 64, 2048, transposed})->Args({64, 512, 2048, transposed});
    bench->Args({1024, 256, 1024, transposed})->Args({1024, 768, 256, transposed});
  }
}
BENCHMARK(bench_openblas_float32)->Apply(shapes);
BENCHMARK(bench_onednn_float32)->Apply(shapes);
BENCHMARK(bench_openblas_float64)->Apply(shapes);

}  // namespace
