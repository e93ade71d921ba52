// ebb/kernels/cpu/recurrent.cpp -- LSTM, GRU and plain recurrent layers over all times.
//
// Sequences of a batch do not depend on each other, so blocks of them run on any thread, each
// through all times: per time one product with the recurrent weight and one pass over the gates.
// The weight's gradient is one product over all times at the end.
#include <algorithm>

#include "ebb/core/allocator.h"
#include "ebb/core/parallel.h"
#include "ebb/kernels/cpu/gemm.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/cpu/simd.h"
#include "ebb/kernels/tables.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ebb/kernels/cpu/recurrent.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "ebb/kernels/cpu/recurrent-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

// Sequences that run together: fewer would read the weight more often, more would leave threads
// without work.
constexpr int64_t kBlock = 32;
// Pieces of the weight's gradient, each of at least so many rows.
constexpr int64_t kWeightPieces = 4;
constexpr int64_t kLeastRows = 64;

/// Sizes of a layer, and the order of its times.
struct Scan {
  int64_t times, batch, units;
  bool reverse;

  Scan(const TensorView& states, bool reverse)
      : times(states.sizes[0]), batch(states.sizes[1]), units(states.sizes[2]), reverse(reverse) {}

  /// The time of step `step`.
  int64_t at(int64_t step) const { return reverse ? times - 1 - step : step; }
  /// Row of sequence `row` at step `step` among the rows of all times.
  int64_t row(int64_t step, int64_t row) const { return at(step) * batch + row; }

  /// Calls body(first sequence, count) for blocks of the batch.
  template <class Body>
  void for_each_block(const Body& body) const {
    parallel_for(batch, kBlock, [&](int64_t begin, int64_t end) { body(begin, end - begin); });
  }
};

/// State number `step` - 1: h0 before the first step.
template <typename T>
const T* state_before(const Scan& scan, const T* first, const T* all, int64_t step, int64_t row) {
  return step == 0 ? first + row * scan.units : all + scan.row(step - 1, row) * scan.units;
}

/// c (rows x n) = or += a (rows x k) weight^T, for a weight [n, k].
template <typename T>
void multiply_turned(int64_t rows, int64_t n, int64_t k, const T* a, const T* weight, T* c) {
  gemm(dtype_of<T>, {rows, n, k, {a, k, 1}, turned(weight, n, k, k), c, n, true});
}

/// Copies rows that lie anywhere side by side.
template <typename T>
void copy_rows(const TensorView& from, int64_t time, int64_t row, int64_t rows, T* to) {
  const T* source = from.as<T>() + time * from.strides[0];
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(source + (row + i) * from.strides[1], from.sizes[2], to + i * from.sizes[2]);
  }
}

/// grad_weight [n, H] = sum over all times of grads^T h before, where grads is [T, B, n].
template <typename T>
void weight_gradient(const Scan& scan, const T* grads, int64_t n, const T* h0, const T* out,
                     T* grad_weight) {
  const int64_t units = scan.units, rows = (scan.times - 1) * scan.batch;
  const T* const at_start = grads + scan.row(0, 0) * n;
  const T* const later = scan.reverse ? grads : grads + scan.batch * n;
  const T* const before = scan.reverse ? out + scan.batch * units : out;
  const int64_t piece = std::max(kLeastRows, (n + kWeightPieces - 1) / kWeightPieces);
  parallel_for(n, piece, [&](int64_t begin, int64_t end) {
    T* const to = grad_weight + begin * units;
    const int64_t m = end - begin;
    if (rows > 0) {
      gemm(dtype_of<T>, {m,
                         units,
                         rows,
                         turned(later + begin, rows, m, n),
                         {before, units, 1},
                         to,
                         units,
                         false});
    }
    gemm(dtype_of<T>, {m,
                       units,
                       scan.batch,
                       turned(at_start + begin, scan.batch, m, n),
                       {h0, units, 1},
                       to,
                       units,
                       rows > 0});
  });
}

template <typename T>
const T* row_of(const TensorView* view, int64_t row, int64_t units) {
  return view == nullptr ? nullptr : view->as<T>() + row * units;
}

template <typename T>
void lstm_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                 const TensorView& c0, const TensorView& weight, bool reverse,
                 const TensorView& out, const TensorView& cells, const TensorView& activated) {
  const Scan scan(out, reverse);
  const int64_t units = scan.units;
  const auto count = static_cast<size_t>(units);
  scan.for_each_block([&](int64_t first, int64_t rows) {
    for (int64_t step = 0; step < scan.times; ++step) {
      const int64_t row = scan.row(step, first);
      T* const now = activated.as<T>() + row * 4 * units;
      copy_rows(gates, scan.at(step), first, rows, now);
      const T* const state = state_before(scan, h0.as<T>(), out.as<T>(), step, first);
      multiply_turned(rows, 4 * units, units, state, weight.as<T>(), now);
      const T* const before = state_before(scan, c0.as<T>(), cells.as<T>(), step, first);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t at = (row + i) * units;
        for_each_vector<T>(count, LstmCell<T>{now + i * 4 * units, before + i * units,
                                              cells.as<T>() + at, out.as<T>() + at, count});
      }
    }
  });
}

template <typename T>
void lstm_backward_kernel(const Context&, const RecurrentSaved& saved, bool reverse,
                          const RecurrentGrads& grads) {
  const Scan scan(*saved.out, reverse);
  const int64_t units = scan.units;
  const auto count = static_cast<size_t>(units);
  T* const grad_gates = grads.gates.as<T>();
  scan.for_each_block([&](int64_t first, int64_t rows) {
    T* const grad_h = grads.h0.as<T>() + first * units;
    T* const grad_c = grads.c0.as<T>() + first * units;
    std::fill_n(grad_h, rows * units, T{0});
    std::fill_n(grad_c, rows * units, T{0});
    for (int64_t step = scan.times; step-- > 0;) {
      const int64_t row = scan.row(step, first);
      const T* const before =
          state_before(scan, saved.c0->as<T>(), saved.cells->as<T>(), step, first);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t at = row + i;
        for_each_vector<T>(
            count, LstmCellBackward<T>{saved.activated->as<T>() + at * 4 * units,
                                       before + i * units, saved.cells->as<T>() + at * units,
                                       grad_h + i * units, row_of<T>(saved.grad_out, at, units),
                                       row_of<T>(saved.grad_cells, at, units), grad_c + i * units,
                                       grad_gates + at * 4 * units, count});
      }
      gemm(dtype_of<T>, {rows,
                         units,
                         4 * units,
                         {grad_gates + row * 4 * units, 4 * units, 1},
                         {saved.weight->as<T>(), units, 1},
                         grad_h,
                         units,
                         false});
    }
  });
  weight_gradient(scan, grad_gates, 4 * units, saved.h0->as<T>(), saved.out->as<T>(),
                  grads.weight.as<T>());
}

template <typename T>
void gru_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                const TensorView& weight, const TensorView& bias, bool reverse,
                const TensorView& out, const TensorView& activated) {
  const Scan scan(out, reverse);
  const int64_t units = scan.units;
  const auto count = static_cast<size_t>(units);
  scan.for_each_block([&](int64_t first, int64_t rows) {
    const Scratch scratch(static_cast<size_t>(rows * 3 * units) * sizeof(T));
    T* const product = scratch.as<T>();
    for (int64_t step = 0; step < scan.times; ++step) {
      const int64_t row = scan.row(step, first);
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(bias.as<T>(), 3 * units, product + i * 3 * units);
      }
      const T* const before = state_before(scan, h0.as<T>(), out.as<T>(), step, first);
      multiply_turned(rows, 3 * units, units, before, weight.as<T>(), product);
      const T* const added = gates.as<T>() + scan.at(step) * gates.strides[0];
      for (int64_t i = 0; i < rows; ++i) {
        for_each_vector<T>(
            count, GruCell<T>{added + (first + i) * gates.strides[1], product + i * 3 * units,
                              before + i * units, activated.as<T>() + (row + i) * 4 * units,
                              out.as<T>() + (row + i) * units, count});
      }
    }
  });
}

/// The recurrent bias' gradient: the sum over all rows.
void sum_rows(const Context& context, void* rows, int64_t count, const TensorView& out) {
  const int64_t sizes[] = {count, out.numel}, strides[] = {out.numel, 1};
  const int64_t to_sizes[] = {1, out.numel};
  const TensorView all{rows, sizes, strides, count * out.numel, 2, out.dtype, true};
  const TensorView sum{out.data, to_sizes, strides, out.numel, 2, out.dtype, true};
  sum_kernels.find_cpu(out.dtype)(context, all, sum);
}

template <typename T>
void gru_backward_kernel(const Context& context, const RecurrentSaved& saved, bool reverse,
                         const RecurrentGrads& grads) {
  const Scan scan(*saved.out, reverse);
  const int64_t units = scan.units, all_rows = scan.times * scan.batch;
  const auto count = static_cast<size_t>(units);
  const Scratch scratch(static_cast<size_t>(all_rows * 3 * units) * sizeof(T));
  T* const products = scratch.as<T>();  // gradients of the recurrent products
  scan.for_each_block([&](int64_t first, int64_t rows) {
    T* const grad_h = grads.h0.as<T>() + first * units;
    std::fill_n(grad_h, rows * units, T{0});
    for (int64_t step = scan.times; step-- > 0;) {
      const int64_t row = scan.row(step, first);
      const T* const before =
          state_before(scan, saved.h0->as<T>(), saved.out->as<T>(), step, first);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t at = row + i;
        for_each_vector<T>(
            count, GruCellBackward<T>{saved.activated->as<T>() + at * 4 * units, before + i * units,
                                      row_of<T>(saved.grad_out, at, units), grad_h + i * units,
                                      grads.gates.as<T>() + at * 3 * units,
                                      products + at * 3 * units, count});
      }
      gemm(dtype_of<T>, {rows,
                         units,
                         3 * units,
                         {products + row * 3 * units, 3 * units, 1},
                         {saved.weight->as<T>(), units, 1},
                         grad_h,
                         units,
                         true});
    }
  });
  weight_gradient(scan, products, 3 * units, saved.h0->as<T>(), saved.out->as<T>(),
                  grads.weight.as<T>());
  sum_rows(context, products, all_rows, grads.bias);
}

template <typename T>
void rnn_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                const TensorView& weight, bool is_relu, bool reverse, const TensorView& out) {
  const Scan scan(out, reverse);
  const int64_t units = scan.units;
  scan.for_each_block([&](int64_t first, int64_t rows) {
    for (int64_t step = 0; step < scan.times; ++step) {
      T* const now = out.as<T>() + scan.row(step, first) * units;
      copy_rows(gates, scan.at(step), first, rows, now);
      const T* const before = state_before(scan, h0.as<T>(), out.as<T>(), step, first);
      multiply_turned(rows, units, units, before, weight.as<T>(), now);
      for_each_vector<T>(static_cast<size_t>(rows * units), RnnCell<T>{now, is_relu});
    }
  });
}

template <typename T>
void rnn_backward_kernel(const Context&, const RecurrentSaved& saved, bool is_relu, bool reverse,
                         const RecurrentGrads& grads) {
  const Scan scan(*saved.out, reverse);
  const int64_t units = scan.units;
  T* const grad_gates = grads.gates.as<T>();
  scan.for_each_block([&](int64_t first, int64_t rows) {
    T* const grad_h = grads.h0.as<T>() + first * units;
    std::fill_n(grad_h, rows * units, T{0});
    for (int64_t step = scan.times; step-- > 0;) {
      const int64_t at = scan.row(step, first);
      for_each_vector<T>(static_cast<size_t>(rows * units),
                         RnnCellBackward<T>{saved.out->as<T>() + at * units, grad_h,
                                            row_of<T>(saved.grad_out, at, units),
                                            grad_gates + at * units, is_relu});
      gemm(dtype_of<T>, {rows,
                         units,
                         units,
                         {grad_gates + at * units, units, 1},
                         {saved.weight->as<T>(), units, 1},
                         grad_h,
                         units,
                         false});
    }
  });
  weight_gradient(scan, grad_gates, units, saved.h0->as<T>(), saved.out->as<T>(),
                  grads.weight.as<T>());
}

template <typename T>
void set() {
  lstm_scan_kernels.set_cpu(dtype_of<T>, &lstm_kernel<T>);
  lstm_scan_backward_kernels.set_cpu(dtype_of<T>, &lstm_backward_kernel<T>);
  gru_scan_kernels.set_cpu(dtype_of<T>, &gru_kernel<T>);
  gru_scan_backward_kernels.set_cpu(dtype_of<T>, &gru_backward_kernel<T>);
  rnn_scan_kernels.set_cpu(dtype_of<T>, &rnn_kernel<T>);
  rnn_scan_backward_kernels.set_cpu(dtype_of<T>, &rnn_backward_kernel<T>);
}

void fill_tables() {
  set<float>();
  set<double>();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ebb::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::kernels::cpu {
void fill_recurrent(Isa isa) { EBB_CALL_FOR_ISA(isa, fill_tables()); }
}  // namespace ebb::kernels::cpu
#endif
