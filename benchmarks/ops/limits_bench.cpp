// benchmarks/ops/limits_bench.cpp -- how close large ops come to what the machine can do.
//
// Questions: is matmul as fast as the better of the two libraries behind it (an op against a bare
// call, both into memory that is at hand)? Do element-wise ops and sums over 64 MB keep up with a
// copy? Names are matmul_<engine>/<shape> and stream_<what>.
#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>
#include <string>

#include "benchmarks/bench_support.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/greater.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/relu.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/core/base/random.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/gemm/gemm.h"

namespace ebb::bench {
namespace {

using kernels::cpu::Gemm;

/// C (m x n) = A (m x k) B (k x n), `batch` times; an operand may be stored by columns.
struct Product {
  int64_t batch, m, n, k;
  bool a_turned = false, b_turned = false;

  std::string name() const {
    const std::string prefix = batch > 1 ? std::to_string(batch) + "x" : "";
    return prefix + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
           (a_turned ? ",A^T" : "") + (b_turned ? ",B^T" : "");
  }
};

const Product kProducts[] = {
    {1, 64, 64, 64},
    {1, 96, 96, 96},
    {1, 128, 128, 128},
    {1, 192, 192, 192},
    {1, 256, 256, 256},
    {1, 384, 384, 384},
    {1, 512, 512, 512},
    {1, 768, 768, 768},
    {1, 1024, 1024, 1024},
    {1, 2048, 2048, 2048},
    {1, 64, 64, 64, false, true},
    {1, 128, 128, 128, false, true},
    {1, 256, 256, 256, false, true},
    {1, 512, 512, 512, false, true},
    {1, 1024, 1024, 1024, false, true},
    {1, 128, 128, 128, true, false},
    {1, 256, 256, 256, true, false},
    {1, 512, 512, 512, true, false},
    {1, 1024, 1024, 1024, true, false},
    {1, 2048, 64, 64},
    {1, 64, 2048, 64},
    {1, 64, 64, 2048},
    {1, 64, 64, 2048, false, true},
    {1, 2048, 2048, 64},
    {1, 128, 512, 784, false, true},
    {1, 1024, 256, 1024, false, true},
    {8, 128, 128, 128},
    {32, 128, 128, 64, false, true},
    {16, 256, 64, 256},
    {4, 512, 512, 512},
    // below 64
    {1, 4, 4, 4},
    {1, 8, 8, 8},
    {1, 16, 16, 16},
    {1, 32, 32, 32},
    {1, 48, 48, 48},
    {1, 32, 10, 32, false, true},
    {1, 16, 32, 32, false, true},
};

/// A random matrix [batch, rows, columns], stored by columns if `turned`.
Tensor matrix(int64_t batch, int64_t rows, int64_t columns, bool turned) {
  const int64_t stored[] = {batch, turned ? columns : rows, turned ? rows : columns};
  const Tensor made = randn(stored, DType::float32);
  const Tensor turned_back = turned ? transpose(made, 1, 2) : made;
  return batch == 1 ? select(turned_back, 0, 0) : turned_back;
}

void bench_op(benchmark::State& state, const Product& p) {
  const NoGradGuard guard;
  const Tensor a = matrix(p.batch, p.m, p.k, p.a_turned), b = matrix(p.batch, p.k, p.n, p.b_turned);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(a, b).impl());
}

void bench_engine(benchmark::State& state, const Product& p, void (*engine)(const Gemm&)) {
  const NoGradGuard guard;
  const Tensor a = matrix(p.batch, p.m, p.k, p.a_turned), b = matrix(p.batch, p.k, p.n, p.b_turned);
  const int64_t sizes[] = {p.batch, p.m, p.n};
  const Tensor c = empty(sizes, DType::float32);
  const int64_t a_strides[] = {p.a_turned ? 1 : p.k, p.a_turned ? p.m : 1};
  const int64_t b_strides[] = {p.b_turned ? 1 : p.n, p.b_turned ? p.k : 1};
  for (auto _ : state) {
    for (int64_t i = 0; i < p.batch; ++i) {
      engine({p.m,
              p.n,
              p.k,
              {a.data<float>() + i * p.m * p.k, a_strides[0], a_strides[1]},
              {b.data<float>() + i * p.k * p.n, b_strides[0], b_strides[1]},
              c.data<float>() + i * p.m * p.n,
              p.n,
              false});
    }
    benchmark::ClobberMemory();
  }
  const Tensor expected = reshape(matmul(a, b), sizes);
  check(max(where(greater(sub(c, expected), 0), sub(c, expected), sub(expected, c)))
                .data<float>()[0] < 1e-3f * static_cast<float>(p.k),
        "a product");
}

constexpr int64_t kStream = int64_t{16} << 20;  // elements of 4 bytes: 64 MB

/// Times `op`, which reads and writes `bytes` in all.
void bench_stream(benchmark::State& state, int64_t bytes, const std::function<void()>& op) {
  const NoGradGuard guard;
  op();  // memory that is mapped stays mapped
  for (auto _ : state) op();
  state.SetBytesProcessed(state.iterations() * bytes);
}

Tensor stream_operand() {
  const int64_t sizes[] = {kStream};
  return randn(sizes, DType::float32);
}

void register_streams() {
  constexpr int64_t bytes = 4 * kStream;
  const auto add_stream = [](const char* name, int64_t moved, auto make) {
    benchmark::RegisterBenchmark(name, [moved, make](benchmark::State& state) {
      const Tensor x = stream_operand(), y = stream_operand();
      bench_stream(state, moved, make(x, y));
    });
  };
  add_stream("stream_memcpy", 2 * bytes, [](const Tensor& x, const Tensor& y) {
    return [=] { std::memcpy(y.data<float>(), x.data<float>(), x.nbytes()); };
  });
  // Pieces too small for memcpy to write past the caches, as ops do not either.
  add_stream("stream_copy", 2 * bytes, [](const Tensor& x, const Tensor& y) {
    return [=] {
      constexpr int64_t piece = 4096;
      for (int64_t at = 0; at < kStream; at += piece) {
        std::memcpy(y.data<float>() + at, x.data<float>() + at, sizeof(float) * piece);
      }
    };
  });
  add_stream("stream_clone", 2 * bytes, [](const Tensor& x, const Tensor&) {
    return [=] { benchmark::DoNotOptimize(clone(x).impl()); };
  });
  add_stream("stream_mul", 3 * bytes, [](const Tensor& x, const Tensor& y) {
    return [=] { benchmark::DoNotOptimize(mul(x, y).impl()); };
  });
  add_stream("stream_relu", 2 * bytes, [](const Tensor& x, const Tensor&) {
    return [=] { benchmark::DoNotOptimize(relu(x).impl()); };
  });
  add_stream("stream_sum", bytes, [](const Tensor& x, const Tensor&) {
    return [=] { benchmark::DoNotOptimize(sum(x).impl()); };
  });
}

void register_products() {
  for (const Product& p : kProducts) {
    benchmark::RegisterBenchmark(("matmul_ebb/" + p.name()).c_str(),
                                 [&p](benchmark::State& state) { bench_op(state, p); });
    benchmark::RegisterBenchmark(
        ("matmul_openblas/" + p.name()).c_str(), [&p](benchmark::State& state) {
          bench_engine(state, p,
                       [](const Gemm& g) { kernels::cpu::openblas_gemm(DType::float32, g); });
        });
    benchmark::RegisterBenchmark(
        ("matmul_onednn/" + p.name()).c_str(), [&p](benchmark::State& state) {
          bench_engine(state, p, [](const Gemm& g) { kernels::cpu::onednn_gemm(g); });
        });
  }
}

[[maybe_unused]] const bool registered = [] {
  register_products();
  register_streams();
  return true;
}();

}  // namespace
}  // namespace ebb::bench
