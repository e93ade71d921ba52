// ebb/kernels/cpu/network/recurrent_cells-inl.h -- what recurrent cells do with one row of gates,
// vectorised.
//
// A row holds the gates of one sequence at one time, `units` of each kind side by side. A product
// with the weight has only the `width` units of a block side by side; so a cell does some of the
// units, its pointers at the first of them. S is what a layer's tensors hold, T = LaneOf<S> what is
// computed in. Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_RECURRENT_CELLS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_RECURRENT_CELLS_INL_H
#undef EBB_KERNELS_CPU_RECURRENT_CELLS_INL_H
#else
#define EBB_KERNELS_CPU_RECURRENT_CELLS_INL_H
#endif

#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/memory-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// Reads and writes whole vectors.
template <typename T>
struct WholeVectors {
  hn::ScalableTag<T> d;
  template <typename S>
  HWY_INLINE hn::Vec<hn::ScalableTag<T>> load(const S* from) const {
    return load_lanes(d, from);
  }
  template <typename S>
  HWY_INLINE void store(hn::Vec<hn::ScalableTag<T>> v, S* to) const {
    store_lanes(v, d, to);
  }
};
/// Reads and writes the first `count` elements only.
template <typename T>
struct PartVectors {
  hn::ScalableTag<T> d;
  size_t count;
  template <typename S>
  HWY_INLINE hn::Vec<hn::ScalableTag<T>> load(const S* from) const {
    return load_first(d, from, count);
  }
  template <typename S>
  HWY_INLINE void store(hn::Vec<hn::ScalableTag<T>> v, S* to) const {
    store_first(v, d, to, count);
  }
};

/// A result that the next step reads: where that would read rounded numbers, it reads `exact`.
template <typename S>
struct Carried {
  S* to;
  LaneOf<S>* exact;  // only of half types

  template <class Memory, class V>
  HWY_INLINE void store(const Memory& memory, V v, size_t i) const {
    memory.store(v, to + i);
    if constexpr (is_half_type<S>) memory.store(v, exact + i);
  }
};

/// Calls cell(memory, i) for the vectors that cover `count` elements.
template <typename T, class Cell>
HWY_INLINE void for_each_vector(size_t count, const Cell& cell) {
  const hn::ScalableTag<T> d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) cell(WholeVectors<T>{d}, i);
  if (i < count) cell(PartVectors<T>{d, count - i}, i);
}

template <class D, class V>
HWY_INLINE V logistic_of(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
}
/// v (1 - v): the slope of the logistic function where it is v.
template <class D, class V>
HWY_INLINE V logistic_slope(D, V v) {
  return hn::NegMulAdd(v, v, v);
}
/// 1 - v^2: the slope of tanh where it is v.
template <class D, class V>
HWY_INLINE V tanh_slope(D d, V v) {
  return hn::NegMulAdd(v, v, hn::Set(d, hn::TFromD<D>{1}));
}

/// `gates` is what the input adds, `product` what the previous state adds; activated gates out, and
/// the new cell and state.
template <typename S, typename T = LaneOf<S>>
struct LstmCell {
  const S* gates;
  const T* product;
  const T* cell_before;
  T* activated;
  Carried<S> cell, state;
  size_t units, width;

  template <class Memory>
  HWY_INLINE void operator()(const Memory& memory, size_t i) const {
    const auto d = memory.d;
    const auto sum = [&](size_t kind) HWY_ATTR {
      return hn::Add(memory.load(gates + kind * units + i),
                     memory.load(product + kind * width + i));
    };
    const auto input = logistic_of(d, sum(0));
    const auto forget = logistic_of(d, sum(1));
    const auto fresh = tanh_of(d, sum(2));
    const auto output = logistic_of(d, sum(3));
    T* const at = activated + i;
    const auto kept = hn::Mul(forget, memory.load(cell_before + i));
    const auto now = hn::MulAdd(input, fresh, kept);
    memory.store(input, at);
    memory.store(forget, at + units);
    memory.store(fresh, at + 2 * units);
    memory.store(output, at + 3 * units);
    cell.store(memory, now, i);
    state.store(memory, hn::Mul(output, tanh_of(d, now)), i);
  }
};

/// The gradient of the gates; `grad_cell` is the one of this cell, then of the one before.
template <typename S, typename T = LaneOf<S>>
struct LstmCellBackward {
  const T* gates;
  const S* cell_before;
  const S* cell;
  const T* grad_state;  // from the next time
  const S* grad_out;    // from outside, or null
  const S* grad_cells;  // the same
  T* grad_cell;
  Carried<S> grad_gates;
  size_t units;

  template <class Memory>
  HWY_INLINE void operator()(const Memory& memory, size_t i) const {
    const auto d = memory.d;
    const auto input = memory.load(gates + i), forget = memory.load(gates + units + i);
    const auto fresh = memory.load(gates + 2 * units + i);
    const auto output = memory.load(gates + 3 * units + i);
    const auto shown = tanh_of(d, memory.load(cell + i));
    auto grad = memory.load(grad_state + i);
    if (grad_out != nullptr) grad = hn::Add(grad, memory.load(grad_out + i));
    auto inner =
        hn::MulAdd(hn::Mul(grad, output), tanh_slope(d, shown), memory.load(grad_cell + i));
    if (grad_cells != nullptr) inner = hn::Add(inner, memory.load(grad_cells + i));
    grad_gates.store(memory, hn::Mul(hn::Mul(inner, fresh), logistic_slope(d, input)), i);
    const auto before = memory.load(cell_before + i);
    grad_gates.store(memory, hn::Mul(hn::Mul(inner, before), logistic_slope(d, forget)), units + i);
    grad_gates.store(memory, hn::Mul(hn::Mul(inner, input), tanh_slope(d, fresh)), 2 * units + i);
    grad_gates.store(memory, hn::Mul(hn::Mul(grad, shown), logistic_slope(d, output)),
                     3 * units + i);
    memory.store(hn::Mul(inner, forget), grad_cell + i);
  }
};

/// `gates` is what the input adds, `product` what the previous state adds, `activated` what is
/// kept: reset, update, new, and the last part of `product`.
template <typename S, typename T = LaneOf<S>>
struct GruCell {
  const S* gates;
  const T* product;
  const T* before;
  T* activated;
  Carried<S> state;
  size_t units, width;

  template <class Memory>
  HWY_INLINE void operator()(const Memory& memory, size_t i) const {
    const auto d = memory.d;
    const auto sum = [&](size_t kind) HWY_ATTR {
      return hn::Add(memory.load(gates + kind * units + i),
                     memory.load(product + kind * width + i));
    };
    const auto reset = logistic_of(d, sum(0));
    const auto update = logistic_of(d, sum(1));
    const auto recurrent = memory.load(product + 2 * width + i);
    const auto fresh = tanh_of(d, hn::MulAdd(reset, recurrent, memory.load(gates + 2 * units + i)));
    memory.store(reset, activated + i);
    memory.store(update, activated + units + i);
    memory.store(fresh, activated + 2 * units + i);
    memory.store(recurrent, activated + 3 * units + i);
    const auto moved = hn::Sub(memory.load(before + i), fresh);
    state.store(memory, hn::MulAdd(update, moved, fresh), i);
  }
};

/// `grad_state` is the part of the next time's gradient that passed by the gates, `grad_before` the
/// part through them. `grad_state` becomes the part that passes by these gates.
template <typename S, typename T = LaneOf<S>>
struct GruCellBackward {
  const T* activated;
  const S* before;
  const T* grad_before;
  const S* grad_out;  // or null
  T* grad_state;
  S* grad_gates;
  T* grad_product;
  size_t units;

  template <class Memory>
  HWY_INLINE void operator()(const Memory& memory, size_t i) const {
    const auto d = memory.d;
    const auto reset = memory.load(activated + i), update = memory.load(activated + units + i);
    const auto fresh = memory.load(activated + 2 * units + i);
    const auto recurrent = memory.load(activated + 3 * units + i);
    auto grad = hn::Add(memory.load(grad_state + i), memory.load(grad_before + i));
    if (grad_out != nullptr) grad = hn::Add(grad, memory.load(grad_out + i));
    const auto passed = hn::Mul(grad, update);
    const auto grad_fresh = hn::Mul(hn::Sub(grad, passed), tanh_slope(d, fresh));
    const auto grad_reset = hn::Mul(hn::Mul(grad_fresh, recurrent), logistic_slope(d, reset));
    const auto moved = hn::Sub(memory.load(before + i), fresh);
    const auto grad_update = hn::Mul(hn::Mul(grad, moved), logistic_slope(d, update));
    memory.store(grad_reset, grad_gates + i);
    memory.store(grad_reset, grad_product + i);
    memory.store(grad_update, grad_gates + units + i);
    memory.store(grad_update, grad_product + units + i);
    memory.store(grad_fresh, grad_gates + 2 * units + i);
    memory.store(hn::Mul(grad_fresh, reset), grad_product + 2 * units + i);
    memory.store(passed, grad_state + i);
  }
};

template <typename S, typename T = LaneOf<S>>
struct RnnCell {
  const S* gates;
  const T* product;
  Carried<S> state;
  bool is_relu;

  template <class Memory>
  HWY_INLINE void operator()(const Memory& memory, size_t i) const {
    const auto d = memory.d;
    const auto x = hn::Add(memory.load(gates + i), memory.load(product + i));
    // Written so that a NaN stays one.
    const auto rectified = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
    state.store(memory, is_relu ? rectified : tanh_of(d, x), i);
  }
};

template <typename S, typename T = LaneOf<S>>
struct RnnCellBackward {
  const S* state;
  const T* grad_state;
  const S* grad_out;  // or null
  Carried<S> grad_gates;
  bool is_relu;

  template <class Memory>
  HWY_INLINE void operator()(const Memory& memory, size_t i) const {
    const auto d = memory.d;
    const auto now = memory.load(state + i);
    auto grad = memory.load(grad_state + i);
    if (grad_out != nullptr) grad = hn::Add(grad, memory.load(grad_out + i));
    const auto open = hn::IfThenElseZero(hn::Gt(now, hn::Zero(d)), grad);
    grad_gates.store(memory, is_relu ? open : hn::Mul(grad, tanh_slope(d, now)), i);
  }
};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
