// tests/autograd/thread_stress.h -- many threads with many runs each, and sums that are exact.
//
// The gradients are whole numbers of float64, so any run that is lost, counted twice, or mixed up
// with another one shows. Small in concurrency_test.cpp, large in tests/stress.
#pragma once

#include <vector>

#include "ebb/autograd/ops/ones.h"
#include "tests/autograd/graph_support.h"

namespace ebb {

inline Tensor one_leaf() { return requires_grad_(ones(Shape{1}, DType::float64)); }

/// A value of 41 nodes whose derivative by `x` is 21.
inline Tensor value_of_branches(const Tensor& x) {
  Tensor value = x * 1.0;
  for (int step = 0; step < 20; ++step) value = value + x * 1.0;
  return value;
}

/// Nothing is shared: each thread has a leaf and graphs of its own.
inline void run_disjoint_graphs(int threads, int runs) {
  std::vector<double> sums(static_cast<size_t>(threads));
  on_threads(threads, [&](int thread) {
    const Tensor x = one_leaf();
    for (int run = 0; run < runs; ++run) backward(value_of_branches(x));
    sums[static_cast<size_t>(thread)] = grad_of(x).item<double>();
  });
  EXPECT_EQ(sums, std::vector<double>(sums.size(), 21.0 * runs));
}

/// Graphs of their own that end in one leaf.
inline void run_graphs_of_one_leaf(int threads, int runs) {
  const Tensor x = one_leaf();
  on_threads(threads, [&](int) {
    for (int run = 0; run < runs; ++run) backward(value_of_branches(x));
  });
  EXPECT_EQ(grad_of(x).item<double>(), 21.0 * runs * threads);
}

/// One graph, which all run at the same time.
inline void run_shared_graph(int threads, int runs) {
  const Tensor x = one_leaf();
  const Tensor shared = value_of_branches(x);
  on_threads(threads, [&](int) {
    for (int run = 0; run < runs; ++run) backward(shared, {}, {.retain_graph = true});
  });
  EXPECT_EQ(grad_of(x).item<double>(), 21.0 * runs * threads);
}

/// Graphs that differ at their ends and meet in the middle.
inline void run_shared_trunk(int threads, int runs) {
  const Tensor x = one_leaf();
  const Tensor trunk = value_of_branches(x);
  on_threads(threads, [&](int thread) {
    const Tensor y = one_leaf();
    for (int run = 0; run < runs; ++run) {
      backward(trunk * static_cast<double>(thread) + y, {}, {.retain_graph = true});
    }
    EXPECT_EQ(grad_of(y).item<double>(), 1.0 * runs);
  });
  EXPECT_EQ(grad_of(x).item<double>(), 21.0 * runs * threads * (threads - 1) / 2);
}

}  // namespace ebb
