// ebb/kernels/cpu/network/recurrent_scan-inl.h -- how a recurrent layer goes through its times, and
// what it carries from one to the next.
//
// A Scan says how a layer is cut, Products multiply with its weight. Half types are read and
// written as they are; what a step hands to the next one stays in float32: States on the way
// forward, GateGrads and Sums on the way back. S is what a layer's tensors hold, T = LaneOf<S> what
// is computed in. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_RECURRENT_SCAN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_RECURRENT_SCAN_INL_H
#undef EBB_KERNELS_CPU_RECURRENT_SCAN_INL_H
#else
#define EBB_KERNELS_CPU_RECURRENT_SCAN_INL_H
#endif

#include <algorithm>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/network/recurrent_cells-inl.h"
#include "ebb/kernels/cpu/network/recurrent_weight-inl.h"
#include "ebb/kernels/cpu/simd/memory-inl.h"
#include "ebb/kernels/signatures_recurrent.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

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
// Gradients of gates that are kept in float32 at a time, and steps at least.
constexpr int64_t kWindow = int64_t{1} << 19;
constexpr int64_t kLeastWindow = 2;

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

/// Row `row` of state number `step` - 1: of h0 before the first step.
template <typename T>
const T* state_before(const Scan& scan, const T* first, const T* all, int64_t step, int64_t row) {
  return step == 0 ? first + row * scan.units : all + scan.row(step - 1, row) * scan.units;
}

/// The states that a layer's steps read and write: its results, or where those are rounded, copies
/// in float32 of the last two.
template <typename S, typename T = LaneOf<S>>
class States {
 public:
  States(const Scan& scan, const S* first, S* all)
      : scan_(scan),
        first_(first),
        all_(all),
        size_(scan.batch * scan.units),
        memory_(is_half_type<S> ? static_cast<size_t>(2 * size_) * sizeof(T) : 1) {
    if constexpr (is_half_type<S>) widen(first, memory_.as<T>(), static_cast<size_t>(size_));
  }

  const T* before(int64_t step, int64_t row) const {
    if constexpr (is_half_type<S>) {
      return exact(step, row);
    } else {
      return state_before(scan_, first_, all_, step, row);
    }
  }
  /// Unit `unit` of a row, to be written.
  Carried<S> now(int64_t step, int64_t row, int64_t unit) const {
    S* const to = all_ + scan_.row(step, row) * scan_.units + unit;
    if constexpr (is_half_type<S>) {
      return {to, exact(step + 1, row) + unit};
    } else {
      return {to, nullptr};
    }
  }

 private:
  T* exact(int64_t step, int64_t row) const {
    return memory_.as<T>() + step % 2 * size_ + row * scan_.units;
  }

  const Scan& scan_;
  const S* first_;
  S* all_;
  int64_t size_;
  Scratch memory_;
};

/// An array that is added up: itself, or where it is rounded, memory that write() rounds into it.
template <typename S, typename T = LaneOf<S>>
class Sums {
 public:
  explicit Sums(const TensorView& to)
      : to_(to.as<S>()),
        count_(static_cast<size_t>(to.numel)),
        memory_(is_half_type<S> ? std::max<size_t>(1, count_ * sizeof(T)) : 1) {}

  T* get() const {
    if constexpr (is_half_type<S>) {
      return memory_.as<T>();
    } else {
      return to_;
    }
  }
  void clear() const { std::fill_n(get(), count_, T{0}); }
  void write() const {
    if constexpr (is_half_type<S>) narrow(get(), to_, count_);
  }

 private:
  S* to_;
  size_t count_;
  Scratch memory_;
};

/// The products of a scan with its weight, each part's in memory of its own.
template <typename S, typename T = LaneOf<S>>
class Products {
 public:
  Products(const Scan& scan, const S* weight, WeightSide side)
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

  RecurrentWeight<S> weight_;
  int64_t batch_;
  Scratch memory_;
};

/// Row `row` of step `step` of gates whose rows may lie anywhere.
template <typename T>
const T* gates_at(const Scan& scan, const TensorView& gates, int64_t step, int64_t row) {
  return gates.as<T>() + scan.at(step) * gates.strides[0] + row * gates.strides[1];
}

/// What comes to the gates from a loss, [B, n] a step: [T, B, n] in the order of times, or where
/// that would be rounded, a window of steps in float32. `all` is null then.
template <typename S, typename T = LaneOf<S>>
class GateGrads {
 public:
  GateGrads(const Scan& scan, T* all)
      : scan_(scan),
        all_(all),
        row_size_(scan.kinds * scan.units),
        window_(all != nullptr ? scan.times : window_of(scan)),
        memory_(all != nullptr
                    ? 1
                    : static_cast<size_t>(window_ * scan.batch * row_size_) * sizeof(T)) {}

  /// Steps whose gradients are there at a time; windows begin at multiples of it.
  int64_t window() const { return window_; }
  int64_t row_size() const { return row_size_; }
  T* at(int64_t step, int64_t row) const {
    if (all_ != nullptr) return all_ + scan_.row(step, row) * row_size_;
    return memory_.template as<T>() + (step % window_ * scan_.batch + row) * row_size_;
  }

 private:
  static int64_t window_of(const Scan& scan) {
    const int64_t step = scan.batch * scan.kinds * scan.units;
    return std::min(scan.times, std::max(kLeastWindow, kWindow / step));
  }

  const Scan& scan_;
  T* all_;
  int64_t row_size_, window_;
  Scratch memory_;
};

/// Calls body(step, part) for all parts from the last step to the first, then for step -1, and
/// after(begin, end) once the steps of a window are done.
template <class Body, class After>
void for_each_window(const Scan& scan, int64_t window, const Body& body, const After& after) {
  for (int64_t end = scan.times; end > 0;) {
    const int64_t begin = (end - 1) / window * window;
    scan.for_each_part(end - 1, begin == 0 ? -2 : begin - 1, body);
    after(begin, end);
    end = begin;
  }
}

/// to [n, H] += grads^T [n, rows] before [rows, H], or = it; by pieces of n.
template <typename T>
void add_product(const T* grads, int64_t n, const T* before, int64_t units, int64_t rows, T* to,
                 bool accumulate) {
  const int64_t piece = std::max(kLeastRows, (n + kWeightPieces - 1) / kWeightPieces);
  parallel_for(n, piece, [&](int64_t begin, int64_t end) {
    gemm(dtype_of<T>, {end - begin,
                       units,
                       rows,
                       {grads + begin, 1, n},
                       {before, units, 1},
                       to + begin * units,
                       units,
                       accumulate});
  });
}

/// grad_weight [n, H] = sum over all times of grads^T h before.
template <typename T>
void weight_gradient(const Scan& scan, const GateGrads<T>& grads, const T* h0, const T* out,
                     T* grad_weight) {
  const int64_t n = grads.row_size(), units = scan.units, rows = (scan.times - 1) * scan.batch;
  // The rows of all steps but the first, and the states before them, as they lie in memory.
  const T* const later = grads.at(scan.reverse ? scan.times - 1 : std::min<int64_t>(1, rows), 0);
  const T* const before = scan.reverse ? out + scan.batch * units : out;
  if (rows > 0) add_product(later, n, before, units, rows, grad_weight, false);
  add_product(grads.at(0, 0), n, h0, units, scan.batch, grad_weight, rows > 0);
}

/// The share of the steps of a window, from rounded states.
template <typename S, typename T = LaneOf<S>>
void add_window(const Scan& scan, const GateGrads<S>& grads, int64_t begin, int64_t end,
                const S* h0, const S* out, T* grad_weight) {
  const int64_t size = scan.batch * scan.units;
  const Scratch before(static_cast<size_t>((end - begin) * size) * sizeof(T));
  for (int64_t step = begin; step < end; ++step) {
    widen(state_before(scan, h0, out, step, 0), before.as<T>() + (step - begin) * size,
          static_cast<size_t>(size));
  }
  add_product(grads.at(begin, 0), grads.row_size(), before.as<T>(), scan.units,
              (end - begin) * scan.batch, grad_weight, true);
}

template <typename T>
const T* at_or_null(const TensorView* view, int64_t index) {
  return view == nullptr ? nullptr : view->as<T>() + index;
}

/// What comes to the state after step `step` through the gates of the next step.
template <typename S, typename T = LaneOf<S>>
const T* grad_of_state(const Scan& scan, const Products<S>& products, const GateGrads<S>& grads,
                       int64_t step, const Part& part) {
  if (step == scan.times - 1) return products.zeros(part);
  return products.multiply(part, grads.at(step + 1, part.first));
}

/// Writes the rows of a product to those of a state.
template <typename S, typename T = LaneOf<S>>
void write_rows(const Part& part, const T* rows, int64_t row_size, const TensorView& to) {
  for (int64_t i = 0; i < part.rows; ++i) {
    S* const row = to.as<S>() + (part.first + i) * to.sizes[1] + part.unit;
    if constexpr (is_half_type<S>) {
      narrow(rows + i * row_size, row, static_cast<size_t>(part.units));
    } else {
      std::copy_n(rows + i * row_size, part.units, row);
    }
  }
}

/// Adds them to sums of `units` a row.
template <typename T>
void add_rows(const Part& part, const T* rows, int64_t row_size, int64_t units, T* to) {
  for (int64_t i = 0; i < part.rows; ++i) {
    T* const row = to + (part.first + i) * units + part.unit;
    for (int64_t j = 0; j < part.units; ++j) row[j] += rows[i * row_size + j];
  }
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
