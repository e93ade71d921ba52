// benchmarks/ops/threads_bench.cpp -- how much a second thread helps large ops.
//
// The argument is the number of threads; compare /1 with /2. Results are bitwise the same for both,
// which is checked before anything is timed.
#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>

#include "benchmarks/bench_support.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/log_softmax.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/rand.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/core/base/random.h"
#include "ebb/core/runtime/parallel.h"

namespace ebb::bench {
namespace {

constexpr int64_t kMany = int64_t{4} << 20;  // elements

bool are_bitwise_equal(const Tensor& left, const Tensor& right) {
  return left.nbytes() == right.nbytes() &&
         std::memcmp(left.data_ptr(), right.data_ptr(), left.nbytes()) == 0;
}

void run(benchmark::State& state, const std::function<Tensor()>& op) {
  const NoGradGuard guard;
  set_num_threads(1);
  const Tensor expected = op();
  set_num_threads(state.range(0));
  check(are_bitwise_equal(op(), expected), "an op on two threads");
  for (auto _ : state) benchmark::DoNotOptimize(op().impl());
  set_num_threads(1);
}

Tensor random_of(IntSpan sizes) { return randn(sizes, DType::float32); }

// Question: a reduction, bound by reading memory?
void bench_sum(benchmark::State& state) {
  const int64_t sizes[] = {kMany};
  const Tensor x = random_of(sizes);
  run(state, [&] { return sum(x); });
}
BENCHMARK(bench_sum)->Arg(1)->Arg(2)->UseRealTime();

// Question: an op bound by arithmetic, row by row?
void bench_log_softmax(benchmark::State& state) {
  const int64_t sizes[] = {kMany / 1024, 1024};
  const Tensor x = random_of(sizes);
  run(state, [&] { return log_softmax(x, 1); });
}
BENCHMARK(bench_log_softmax)->Arg(1)->Arg(2)->UseRealTime();

// Question: an op whose pieces may collide, with many duplicate indices?
void bench_index_add(benchmark::State& state) {
  const int64_t rows = 4096, columns = 1024;
  const int64_t sizes[] = {rows, columns}, kept[] = {512, columns}, flat[] = {rows};
  const Tensor source = random_of(sizes), self = random_of(kept);
  const Tensor index = cast(rand(flat, DType::float32) * 512.0, DType::int64);
  run(state, [&] { return index_add(self, 0, index, source); });
}
BENCHMARK(bench_index_add)->Arg(1)->Arg(2)->UseRealTime();

// Question: an element-wise op, bound by reading and writing memory?
void bench_mul(benchmark::State& state) {
  const int64_t sizes[] = {kMany};
  const Tensor x = random_of(sizes), y = random_of(sizes);
  run(state, [&] { return mul(x, y); });
  state.SetBytesProcessed(state.iterations() * 3 * static_cast<int64_t>(x.nbytes()));
}
BENCHMARK(bench_mul)->Arg(1)->Arg(2)->UseRealTime();

// Question: a matrix product, bound by arithmetic?
void bench_matmul(benchmark::State& state) {
  const int64_t sizes[] = {1024, 1024};
  const Tensor x = random_of(sizes), y = random_of(sizes);
  run(state, [&] { return matmul(x, y); });
}
BENCHMARK(bench_matmul)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace ebb::bench
