// ebb/kernels/cpu/network/recurrent.cpp -- LSTM, GRU and plain recurrent layers over all times.
//
// Per time there is one product with the recurrent weight and one pass over the gates. Sequences of
// a batch do not depend on each other, so blocks of them run on any thread, each through all times.
// A batch too small for that is cut by units instead: at each time, blocks of units run on any
// thread, each with its columns of the product and its gates. The weight's gradient is one product
// over all times at the end.
#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/network/recurrent-inl.h"
#include "ebb/kernels/cpu/network/recurrent_weight-inl.h"
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

// Sequences that run together: fewer would read the weight more often, more would leave threads
// without work.
constexpr int64_t kBlock = 32;
// Blocks of units have so many multiplications at a time, and so many units, at least.
constexpr int64_t kBlockWork = int64_t{1} << 19;
constexpr int64_t kLeastUnits = 64;
constexpr int64_t kMostUnitBlocks = 4;
// From so many times on it pays to pack the weight.
constexpr int64_t kPackedTimes = 8;
// Pieces of the weight's gradient, each of at least so many rows.
constexpr int64_t kWeightPieces = 4;
constexpr int64_t kLeastRows = 64;

/// Some sequences and some units.
struct Part {
  int64_t first, rows;
  int64_t block, unit, units;
};

/// Sizes of a layer, the order of its times, and how it is cut; by sizes alone.
struct Scan {
  int64_t times, batch, units, kinds;
  bool reverse;
  bool is_packed;
  UnitBlocks blocks;

  Scan(const TensorView& states, int64_t kinds, bool reverse)
      : times(states.sizes[0]),
        batch(states.sizes[1]),
        units(states.sizes[2]),
        kinds(kinds),
        reverse(reverse),
        is_packed(times >= kPackedTimes),
        blocks{units, 1} {
    if (!is_packed || batch >= 2 * kBlock) return;
    const int64_t work = std::max<int64_t>(1, kBlockWork / (batch * kinds * units));
    const int64_t least = std::max({kLeastUnits, work, (units - 1) / kMostUnitBlocks + 1});
    blocks.width = std::min(units, (least + 15) / 16 * 16);
    blocks.count = (units - 1) / blocks.width + 1;
  }

  /// The time of step `step`.
  int64_t at(int64_t step) const { return reverse ? times - 1 - step : step; }
  /// Row of sequence `row` at step `step` among the rows of all times.
  int64_t row(int64_t step, int64_t row) const { return at(step) * batch + row; }

  /// Calls body(step, part) for all parts of all steps, from the first step to the last but one;
  /// downwards if the last is below the first.
  template <class Body>
  void for_each_part(int64_t from, int64_t to, const Body& body) const {
    const int64_t step_by = from < to ? 1 : -1;
    if (blocks.count == 1) {
      const int64_t count = (batch - 1) / kBlock + 1;
      parallel_for(batch, (batch - 1) / count + 1, [&](int64_t begin, int64_t end) {
        const Part part{begin, end - begin, 0, 0, units};
        for (int64_t step = from; step != to; step += step_by) body(step, part);
      });
      return;
    }
    for (int64_t step = from; step != to; step += step_by) {
      parallel_for(blocks.count, 1, [&](int64_t block, int64_t) {
        const int64_t unit = block * blocks.width;
        body(step, Part{0, batch, block, unit, std::min(blocks.width, units - unit)});
      });
    }
  }
};

/// State number `step` - 1: h0 before the first step.
template <typename T>
const T* state_before(const Scan& scan, const T* first, const T* all, int64_t step, int64_t row) {
  return step == 0 ? first + row * scan.units : all + scan.row(step - 1, row) * scan.units;
}

/// The products of a scan with its weight, each part's in memory of its own.
template <typename T>
class Products {
 public:
  Products(const Scan& scan, const T* weight, WeightSide side)
      : weight_(weight, scan.kinds, scan.units, scan.blocks, side, scan.is_packed),
        batch_(scan.batch),
        memory_(static_cast<size_t>(scan.blocks.count * batch_ * weight_.row_size()) * sizeof(T)) {}

  int64_t row_size() const { return weight_.row_size(); }
  /// The product of the rows of `a` that belong to `part`, one row_size() after the other.
  T* multiply(const Part& part, const T* a) const {
    T* const to = rows_of(part);
    weight_.multiply(part.block, part.rows, a, to);
    return to;
  }
  T* zeros(const Part& part) const {
    T* const to = rows_of(part);
    std::fill_n(to, part.rows * row_size(), T{0});
    return to;
  }

 private:
  T* rows_of(const Part& part) const {
    return memory_.template as<T>() + (part.block * batch_ + part.first) * row_size();
  }

  RecurrentWeight<T> weight_;
  int64_t batch_;
  Scratch memory_;
};

/// Row `row` of step `step` of gates whose rows may lie anywhere.
template <typename T>
const T* gates_at(const Scan& scan, const TensorView& gates, int64_t step, int64_t row) {
  return gates.as<T>() + scan.at(step) * gates.strides[0] + row * gates.strides[1];
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
      gemm(dtype_of<T>,
           {m, units, rows, {later + begin, 1, n}, {before, units, 1}, to, units, false});
    }
    gemm(dtype_of<T>,
         {m, units, scan.batch, {at_start + begin, 1, n}, {h0, units, 1}, to, units, rows > 0});
  });
}

template <typename T>
const T* at_or_null(const TensorView* view, int64_t index) {
  return view == nullptr ? nullptr : view->as<T>() + index;
}

/// What comes to the state after step `step` through the gates of the next step.
template <typename T>
const T* grad_of_state(const Scan& scan, const Products<T>& products, const T* grad_gates,
                       int64_t step, const Part& part) {
  if (step == scan.times - 1) return products.zeros(part);
  const int64_t row = scan.row(step + 1, part.first);
  return products.multiply(part, grad_gates + row * scan.kinds * scan.units);
}

/// Writes the rows of a product to those of a state.
template <typename T>
void write_rows(const Part& part, const T* rows, int64_t row_size, const TensorView& to) {
  for (int64_t i = 0; i < part.rows; ++i) {
    T* const row = to.as<T>() + (part.first + i) * to.sizes[1] + part.unit;
    std::copy_n(rows + i * row_size, part.units, row);
  }
}

/// Adds them.
template <typename T>
void add_rows(const Part& part, const T* rows, int64_t row_size, const TensorView& to) {
  for (int64_t i = 0; i < part.rows; ++i) {
    T* const row = to.as<T>() + (part.first + i) * to.sizes[1] + part.unit;
    for (int64_t j = 0; j < part.units; ++j) row[j] += rows[i * row_size + j];
  }
}

template <typename T>
void lstm_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                 const TensorView& c0, const TensorView& weight, bool reverse,
                 const TensorView& out, const TensorView& cells, const TensorView& activated) {
  const Scan scan(out, 4, reverse);
  const int64_t units = scan.units;
  const Products<T> products(scan, weight.as<T>(), WeightSide::turned);
  scan.for_each_part(0, scan.times, [&](int64_t step, const Part& part) {
    const T* const state = state_before(scan, h0.as<T>(), out.as<T>(), step, part.first);
    const T* const product = products.multiply(part, state);
    const T* const before = state_before(scan, c0.as<T>(), cells.as<T>(), step, part.first);
    const auto count = static_cast<size_t>(part.units);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t row = scan.row(step, part.first + i), at = row * units + part.unit;
      for_each_vector<T>(
          count, LstmCell<T>{gates_at<T>(scan, gates, step, part.first + i) + part.unit,
                             product + i * products.row_size(), before + i * units + part.unit,
                             activated.as<T>() + row * 4 * units + part.unit, cells.as<T>() + at,
                             out.as<T>() + at, static_cast<size_t>(units), count});
    }
  });
}

template <typename T>
void lstm_backward_kernel(const Context&, const RecurrentSaved& saved, bool reverse,
                          const RecurrentGrads& grads) {
  const Scan scan(*saved.out, 4, reverse);
  const int64_t units = scan.units;
  T* const grad_gates = grads.gates.as<T>();
  const Products<T> products(scan, saved.weight->as<T>(), WeightSide::as_it_is);
  std::fill_n(grads.c0.as<T>(), grads.c0.numel, T{0});
  scan.for_each_part(scan.times - 1, -2, [&](int64_t step, const Part& part) {
    const T* const grad_h = grad_of_state(scan, products, grad_gates, step, part);
    if (step < 0) return write_rows(part, grad_h, products.row_size(), grads.h0);
    const T* const before =
        state_before(scan, saved.c0->as<T>(), saved.cells->as<T>(), step, part.first);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t at = scan.row(step, part.first + i), here = at * units + part.unit;
      const int64_t state = (part.first + i) * units + part.unit;
      const int64_t gate = at * 4 * units + part.unit;
      for_each_vector<T>(
          static_cast<size_t>(part.units),
          LstmCellBackward<T>{saved.activated->as<T>() + gate, before + i * units + part.unit,
                              saved.cells->as<T>() + here, grad_h + i * products.row_size(),
                              at_or_null<T>(saved.grad_out, here),
                              at_or_null<T>(saved.grad_cells, here), grads.c0.as<T>() + state,
                              grad_gates + gate, static_cast<size_t>(units)});
    }
  });
  weight_gradient(scan, grad_gates, 4 * units, saved.h0->as<T>(), saved.out->as<T>(),
                  grads.weight.as<T>());
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

template <typename T>
void gru_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                const TensorView& weight, const TensorView& bias, bool reverse,
                const TensorView& out, const TensorView& activated) {
  const Scan scan(out, 3, reverse);
  const int64_t units = scan.units;
  const Products<T> products(scan, weight.as<T>(), WeightSide::turned);
  scan.for_each_part(0, scan.times, [&](int64_t step, const Part& part) {
    const T* const before = state_before(scan, h0.as<T>(), out.as<T>(), step, part.first);
    T* const product = products.multiply(part, before);
    add_bias(part, 3, units, bias.as<T>(), products.row_size(), product);
    const auto count = static_cast<size_t>(part.units);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t row = scan.row(step, part.first + i);
      for_each_vector<T>(
          count,
          GruCell<T>{gates_at<T>(scan, gates, step, part.first + i) + part.unit,
                     product + i * products.row_size(), before + i * units + part.unit,
                     activated.as<T>() + row * 4 * units + part.unit,
                     out.as<T>() + row * units + part.unit, static_cast<size_t>(units), count});
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
  const Scan scan(*saved.out, 3, reverse);
  const int64_t units = scan.units, all_rows = scan.times * scan.batch;
  const Scratch scratch(static_cast<size_t>(all_rows * 3 * units) * sizeof(T));
  T* const grad_products = scratch.as<T>();
  const Products<T> products(scan, saved.weight->as<T>(), WeightSide::as_it_is);
  std::fill_n(grads.h0.as<T>(), grads.h0.numel, T{0});
  scan.for_each_part(scan.times - 1, -2, [&](int64_t step, const Part& part) {
    const T* const through = grad_of_state(scan, products, grad_products, step, part);
    if (step < 0) return add_rows(part, through, products.row_size(), grads.h0);
    const T* const before =
        state_before(scan, saved.h0->as<T>(), saved.out->as<T>(), step, part.first);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t at = scan.row(step, part.first + i), gate = at * 3 * units + part.unit;
      for_each_vector<T>(
          static_cast<size_t>(part.units),
          GruCellBackward<T>{saved.activated->as<T>() + at * 4 * units + part.unit,
                             before + i * units + part.unit, through + i * products.row_size(),
                             at_or_null<T>(saved.grad_out, at * units + part.unit),
                             grads.h0.as<T>() + (part.first + i) * units + part.unit,
                             grads.gates.as<T>() + gate, grad_products + gate,
                             static_cast<size_t>(units)});
    }
  });
  weight_gradient(scan, grad_products, 3 * units, saved.h0->as<T>(), saved.out->as<T>(),
                  grads.weight.as<T>());
  sum_rows(context, grad_products, all_rows, grads.bias);
}

template <typename T>
void rnn_kernel(const Context&, const TensorView& gates, const TensorView& h0,
                const TensorView& weight, bool is_relu, bool reverse, const TensorView& out) {
  const Scan scan(out, 1, reverse);
  const Products<T> products(scan, weight.as<T>(), WeightSide::turned);
  scan.for_each_part(0, scan.times, [&](int64_t step, const Part& part) {
    const T* const before = state_before(scan, h0.as<T>(), out.as<T>(), step, part.first);
    const T* const product = products.multiply(part, before);
    for (int64_t i = 0; i < part.rows; ++i) {
      T* const now = out.as<T>() + scan.row(step, part.first + i) * scan.units + part.unit;
      for_each_vector<T>(static_cast<size_t>(part.units),
                         RnnCell<T>{gates_at<T>(scan, gates, step, part.first + i) + part.unit,
                                    product + i * products.row_size(), now, is_relu});
    }
  });
}

template <typename T>
void rnn_backward_kernel(const Context&, const RecurrentSaved& saved, bool is_relu, bool reverse,
                         const RecurrentGrads& grads) {
  const Scan scan(*saved.out, 1, reverse);
  const int64_t units = scan.units;
  T* const grad_gates = grads.gates.as<T>();
  const Products<T> products(scan, saved.weight->as<T>(), WeightSide::as_it_is);
  scan.for_each_part(scan.times - 1, -2, [&](int64_t step, const Part& part) {
    const T* const grad_h = grad_of_state(scan, products, grad_gates, step, part);
    if (step < 0) return write_rows(part, grad_h, products.row_size(), grads.h0);
    for (int64_t i = 0; i < part.rows; ++i) {
      const int64_t here = scan.row(step, part.first + i) * units + part.unit;
      for_each_vector<T>(
          static_cast<size_t>(part.units),
          RnnCellBackward<T>{saved.out->as<T>() + here, grad_h + i * products.row_size(),
                             at_or_null<T>(saved.grad_out, here), grad_gates + here, is_relu});
    }
  });
  weight_gradient(scan, grad_gates, units, saved.h0->as<T>(), saved.out->as<T>(),
                  grads.weight.as<T>());
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

void fill_recurrent() { set<float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
