// ebb/kernels/cpu/network/recurrent.cpp -- LSTM, GRU and plain recurrent layers over all times.
//
// Per time there is one product with the recurrent weight and one pass over the gates. Sequences of
// a batch do not depend on each other, so blocks of them run on any thread, each through all times.
// A batch too small for that is cut by units instead: at each time, blocks of units run on any
// thread, each with its columns of the product and its gates. The weight's gradient is one product
// over all times at the end; for half types, whose gradients are rounded as they are written, one
// for each window of times in which they are still at hand in float32.
#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/network/recurrent_cells-inl.h"
#include "ebb/kernels/cpu/network/recurrent_scan-inl.h"
#include "ebb/kernels/tables/gru_scan.h"
#include "ebb/kernels/tables/gru_scan_backward.h"
#include "ebb/kernels/tables/lstm_scan.h"
#include "ebb/kernels/tables/lstm_scan_backward.h"
#include "ebb/kernels/tables/rnn_scan.h"
#include "ebb/kernels/tables/rnn_scan_backward.h"
#include "ebb/kernels/tables/sum.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// The array that gradients of gates lie in whole: `rows`, but for half types none.
template <typename S, typename T = LaneOf<S>>
T* whole(const TensorView& rows) {
  if constexpr (is_half_type<S>) {
    return nullptr;
  } else {
    return rows.as<T>();
  }
}

/// Runs body(step, part) backwards and writes the weight's gradient.
template <typename S, class Body, class After>
void go_back(const Scan& scan, const RecurrentSaved& saved, const GateGrads<S>& grads,
             const TensorView& grad_weight, const Body& body, const After& after) {
  const S* const h0 = saved.h0->as<S>();
  const S* const out = saved.out->as<S>();
  const Sums<S> sums(grad_weight);
  if constexpr (is_half_type<S>) sums.clear();
  for_each_window(scan, grads.window(), body, [&](int64_t begin, int64_t end) {
    if constexpr (is_half_type<S>) add_window(scan, grads, begin, end, h0, out, sums.get());
    after(begin, end);
  });
  if constexpr (!is_half_type<S>) weight_gradient(scan, grads, h0, out, sums.get());
  sums.write();
}

template <typename S, class Body>
void go_back(const Scan& scan, const RecurrentSaved& saved, const GateGrads<S>& grads,
             const TensorView& grad_weight, const Body& body) {
  go_back(scan, saved, grads, grad_weight, body, [](int64_t, int64_t) {});
}

template <typename S, typename T = LaneOf<S>>
void lstm_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                 const TensorView& c0, const TensorView& weight, bool reverse,
                 const TensorView& out, const TensorView& cells, const TensorView& activated) {
  const Scan scan(out, 4, reverse);
  const int64_t units = scan.units;
  const Products<S> products(scan, weight.as<S>(), WeightSide::turned);
  const States<S> states(scan, h0.as<S>(), out.as<S>()), inner(scan, c0.as<S>(), cells.as<S>());
  scan.for_each_part(0, scan.times, [&](int64_t step, const Part& part) {
    const T* const product = products.multiply(part, states.before(step, part.first));
    const auto count = static_cast<size_t>(part.units);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t sequence = part.first + i, row = scan.row(step, sequence);
      for_each_vector<T>(
          count,
          LstmCell<S>{gates_at<S>(scan, gates, step, sequence) + part.unit,
                      product + i * products.row_size(), inner.before(step, sequence) + part.unit,
                      activated.as<T>() + row * 4 * units + part.unit,
                      inner.now(step, sequence, part.unit), states.now(step, sequence, part.unit),
                      static_cast<size_t>(units), count});
    }
  });
}

template <typename S, typename T = LaneOf<S>>
void lstm_backward_kernel(const Context&, const RecurrentSaved& saved, bool reverse,
                          const RecurrentGrads& grads) {
  const Scan scan(*saved.out, 4, reverse);
  const int64_t units = scan.units;
  const GateGrads<S> gates(scan, whole<S>(grads.gates));
  const Products<S> products(scan, saved.weight->as<S>(), WeightSide::as_it_is);
  const Sums<S> grad_cell(grads.c0);
  grad_cell.clear();
  go_back<S>(scan, saved, gates, grads.weight, [&](int64_t step, const Part& part) {
    const T* const grad_h = grad_of_state(scan, products, gates, step, part);
    if (step < 0) return write_rows<S>(part, grad_h, products.row_size(), grads.h0);
    const S* const before =
        state_before(scan, saved.c0->as<S>(), saved.cells->as<S>(), step, part.first);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t sequence = part.first + i, at = scan.row(step, sequence);
      const int64_t here = at * units + part.unit, gate = at * 4 * units + part.unit;
      for_each_vector<T>(
          static_cast<size_t>(part.units),
          LstmCellBackward<S>{saved.activated->as<T>() + gate,
                              before + i * units + part.unit,
                              saved.cells->as<S>() + here,
                              grad_h + i * products.row_size(),
                              at_or_null<S>(saved.grad_out, here),
                              at_or_null<S>(saved.grad_cells, here),
                              grad_cell.get() + sequence * units + part.unit,
                              {grads.gates.as<S>() + gate, gates.at(step, sequence) + part.unit},
                              static_cast<size_t>(units)});
    }
  });
  grad_cell.write();
}

/// Adds the bias of the recurrent product.
template <typename T>
void add_bias(const Part& part, int64_t kinds, int64_t units, const T* bias, int64_t row_size,
              T* product) {
  for (int64_t i = 0; i < part.rows; ++i) {
    for (int64_t kind = 0; kind < kinds; ++kind) {
      T* const to = product + i * row_size + kind * part.units;
      const T* const from = bias + kind * units + part.unit;
      for (int64_t j = 0; j < part.units; ++j) to[j] += from[j];
    }
  }
}

/// A small operand in the type of sums: itself, or widened.
template <typename S, typename T = LaneOf<S>>
class Widened {
 public:
  explicit Widened(const TensorView& given)
      : given_(given.as<S>()),
        memory_(is_half_type<S> ? static_cast<size_t>(given.numel) * sizeof(T) : 1) {
    if constexpr (is_half_type<S>) {
      widen(given_, memory_.as<T>(), static_cast<size_t>(given.numel));
    }
  }
  const T* get() const {
    if constexpr (is_half_type<S>) {
      return memory_.as<T>();
    } else {
      return given_;
    }
  }

 private:
  const S* given_;
  Scratch memory_;
};

template <typename S, typename T = LaneOf<S>>
void gru_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                const TensorView& weight, const TensorView& bias, bool reverse,
                const TensorView& out, const TensorView& activated) {
  const Scan scan(out, 3, reverse);
  const int64_t units = scan.units;
  const Products<S> products(scan, weight.as<S>(), WeightSide::turned);
  const States<S> states(scan, h0.as<S>(), out.as<S>());
  const Widened<S> recurrent_bias(bias);
  scan.for_each_part(0, scan.times, [&](int64_t step, const Part& part) {
    T* const product = products.multiply(part, states.before(step, part.first));
    add_bias(part, 3, units, recurrent_bias.get(), products.row_size(), product);
    const auto count = static_cast<size_t>(part.units);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t sequence = part.first + i, row = scan.row(step, sequence);
      for_each_vector<T>(
          count,
          GruCell<S>{gates_at<S>(scan, gates, step, sequence) + part.unit,
                     product + i * products.row_size(), states.before(step, sequence) + part.unit,
                     activated.as<T>() + row * 4 * units + part.unit,
                     states.now(step, sequence, part.unit), static_cast<size_t>(units), count});
    }
  });
}

/// The sum of rows, to be added to others if there are some.
template <typename T>
void sum_rows(const Context& context, T* rows, int64_t count, int64_t size, T* to,
              bool accumulate) {
  const Scratch part(static_cast<size_t>(size) * sizeof(T));
  const int64_t sizes[] = {count, size}, strides[] = {size, 1}, to_sizes[] = {1, size};
  const TensorView all{rows, sizes, strides, count * size, 2, dtype_of<T>, true};
  const TensorView sum{
      accumulate ? part.as<void>() : to, to_sizes, strides, size, 2, dtype_of<T>, true};
  sum_kernels.find_cpu(dtype_of<T>)(context, all, sum);
  if (!accumulate) return;
  for (int64_t i = 0; i < size; ++i) to[i] += part.as<T>()[i];
}

template <typename S, typename T = LaneOf<S>>
void gru_backward_kernel(const Context& context, const RecurrentSaved& saved, bool reverse,
                         const RecurrentGrads& grads) {
  const Scan scan(*saved.out, 3, reverse);
  const int64_t units = scan.units, row_size = 3 * units;
  const int64_t kept = is_half_type<S> ? 1 : scan.times * scan.batch * row_size;
  const Scratch scratch(static_cast<size_t>(kept) * sizeof(T));
  const GateGrads<S> gates(scan, is_half_type<S> ? nullptr : scratch.as<T>());
  const Products<S> products(scan, saved.weight->as<S>(), WeightSide::as_it_is);
  const Sums<S> grad_h0(grads.h0), grad_bias(grads.bias);
  grad_h0.clear();
  const auto step_back = [&](int64_t step, const Part& part) {
    const T* const through = grad_of_state(scan, products, gates, step, part);
    if (step < 0) return add_rows(part, through, products.row_size(), units, grad_h0.get());
    const S* const before =
        state_before(scan, saved.h0->as<S>(), saved.out->as<S>(), step, part.first);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t sequence = part.first + i, at = scan.row(step, sequence);
      for_each_vector<T>(
          static_cast<size_t>(part.units),
          GruCellBackward<S>{saved.activated->as<T>() + at * 4 * units + part.unit,
                             before + i * units + part.unit, through + i * products.row_size(),
                             at_or_null<S>(saved.grad_out, at * units + part.unit),
                             grad_h0.get() + sequence * units + part.unit,
                             grads.gates.as<S>() + at * row_size + part.unit,
                             gates.at(step, sequence) + part.unit, static_cast<size_t>(units)});
    }
  };
  go_back<S>(scan, saved, gates, grads.weight, step_back, [&](int64_t begin, int64_t end) {
    T* const first = is_half_type<S> ? gates.at(begin, 0) : scratch.as<T>();
    sum_rows(context, first, (end - begin) * scan.batch, row_size, grad_bias.get(),
             end < scan.times);
  });
  grad_h0.write();
  grad_bias.write();
}

template <typename S, typename T = LaneOf<S>>
void rnn_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                const TensorView& weight, bool is_relu, bool reverse, const TensorView& out) {
  const Scan scan(out, 1, reverse);
  const Products<S> products(scan, weight.as<S>(), WeightSide::turned);
  const States<S> states(scan, h0.as<S>(), out.as<S>());
  scan.for_each_part(0, scan.times, [&](int64_t step, const Part& part) {
    const T* const product = products.multiply(part, states.before(step, part.first));
    for (int64_t i = 0; i < part.rows; ++i) {
      for_each_vector<T>(static_cast<size_t>(part.units),
                         RnnCell<S>{gates_at<S>(scan, gates, step, part.first + i) + part.unit,
                                    product + i * products.row_size(),
                                    states.now(step, part.first + i, part.unit), is_relu});
    }
  });
}

template <typename S, typename T = LaneOf<S>>
void rnn_backward_kernel(const Context&, const RecurrentSaved& saved, bool is_relu, bool reverse,
                         const RecurrentGrads& grads) {
  const Scan scan(*saved.out, 1, reverse);
  const GateGrads<S> gates(scan, whole<S>(grads.gates));
  const Products<S> products(scan, saved.weight->as<S>(), WeightSide::as_it_is);
  go_back<S>(scan, saved, gates, grads.weight, [&](int64_t step, const Part& part) {
    const T* const grad_h = grad_of_state(scan, products, gates, step, part);
    if (step < 0) return write_rows<S>(part, grad_h, products.row_size(), grads.h0);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t sequence = part.first + i;
      const int64_t here = scan.row(step, sequence) * scan.units + part.unit;
      for_each_vector<T>(
          static_cast<size_t>(part.units),
          RnnCellBackward<S>{saved.out->as<S>() + here,
                             grad_h + i * products.row_size(),
                             at_or_null<S>(saved.grad_out, here),
                             {grads.gates.as<S>() + here, gates.at(step, sequence) + part.unit},
                             is_relu});
    }
  });
}

template <typename... T>
void set() {
  (lstm_scan_kernels.set_cpu(dtype_of<T>, &lstm_kernel<T>), ...);
  (lstm_scan_backward_kernels.set_cpu(dtype_of<T>, &lstm_backward_kernel<T>), ...);
  (gru_scan_kernels.set_cpu(dtype_of<T>, &gru_kernel<T>), ...);
  (gru_scan_backward_kernels.set_cpu(dtype_of<T>, &gru_backward_kernel<T>), ...);
  (rnn_scan_kernels.set_cpu(dtype_of<T>, &rnn_kernel<T>), ...);
  (rnn_scan_backward_kernels.set_cpu(dtype_of<T>, &rnn_backward_kernel<T>), ...);
}

}  // namespace

void fill_recurrent() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
