// benchmarks/optim/optim_bench.cpp -- what an optimizer step costs.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "benchmarks/bench_support.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/sgd.h"

namespace ebb::bench {
namespace {

// The parameters of a 64-128-10 perceptron with a gradient each: 9,610 floats in four tensors.
std::vector<Tensor> parameters_with_gradients() {
  const std::vector<std::vector<int64_t>> shapes = {{128, 64}, {128}, {10, 128}, {10}};
  std::vector<Tensor> parameters;
  for (const auto& shape : shapes) {
    parameters.push_back(leaf(shape, 1.0));
    set_grad(parameters.back(), filled(shape, 1.0));
  }
  return parameters;
}

void run(benchmark::State& state, optim::Optimizer& optimizer) {
  optimizer.step();
  check(first_of(optimizer.parameters()[0]) < 1.0f, "an optimizer step");
  for (auto _ : state) optimizer.step();
  state.SetItemsProcessed(state.iterations() * 9'610);
}

// Question: SGD with momentum?
void bench_sgd_step(benchmark::State& state) {
  optim::SGD optimizer(parameters_with_gradients(), {.lr = 1e-6, .momentum = 0.9});
  run(state, optimizer);
}
BENCHMARK(bench_sgd_step);

// Question: AdamW, with a square root and a division per element?
void bench_adamw_step(benchmark::State& state) {
  optim::AdamW optimizer(parameters_with_gradients(), {.lr = 1e-6});
  run(state, optimizer);
}
BENCHMARK(bench_adamw_step);

}  // namespace
}  // namespace ebb::bench
