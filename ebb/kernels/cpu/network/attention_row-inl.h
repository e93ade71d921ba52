// ebb/kernels/cpu/network/attention_row-inl.h -- what attention does with one row of a tile,
// vectorised.
//
// Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_ATTENTION_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_ATTENTION_ROW_INL_H
#undef EBB_KERNELS_CPU_ATTENTION_ROW_INL_H
#else
#define EBB_KERNELS_CPU_ATTENTION_ROW_INL_H
#endif

#include <limits>

#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/rows-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

template <typename T>
inline constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

template <typename T>
HWY_INLINE T exp_scalar(T value) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(exp_of(d, hn::Set(d, value)));
}
template <typename T>
HWY_INLINE T log_scalar(T value) {
  const hn::CappedTag<T, 1> d;
  return hn::GetLane(log_of(d, hn::Set(d, value)));
}

template <typename T>
struct ScaleBy {
  T factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, hn::Set(d, factor));
  }
};
struct AddRows {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Add(lhs, rhs);
  }
};
struct MulRows {
  template <class D, class V>
  HWY_INLINE V operator()(D, V lhs, V rhs) const {
    return hn::Mul(lhs, rhs);
  }
};
/// weight (grad - sum).
template <typename T>
struct ScoreGrad {
  T sum;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V weight, V grad) const {
    return hn::Mul(weight, hn::Sub(grad, hn::Set(d, sum)));
  }
};
/// exp(x - shift).
template <typename T>
struct ExpMinus {
  T shift;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp_of(d, hn::Sub(x, hn::Set(d, shift)));
  }
};

/// The largest element of a row, NaN if there is one.
template <typename T>
HWY_INLINE T row_max(const T* row, int64_t count) {
  return reduce_all(MaxOp{}, DenseValues<T>{row}, count, static_cast<T*>(nullptr));
}

/// row = exp(row - shift); returns the sum.
template <typename T>
HWY_INLINE T exp_and_sum(T* row, int64_t count, T shift) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const ExpMinus<T> op{shift};
  auto even = hn::Zero(d), odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto first = op(d, hn::LoadU(d, row + i));
    const auto second = op(d, hn::LoadU(d, row + i + lanes));
    hn::StoreU(first, d, row + i);
    hn::StoreU(second, d, row + i + lanes);
    even = hn::Add(even, first);
    odd = hn::Add(odd, second);
  }
  for (; i < count; i += lanes) {
    const auto part = static_cast<size_t>(std::min(lanes, count - i));
    if (part == hn::Lanes(d)) {
      const auto value = op(d, hn::LoadU(d, row + i));
      hn::StoreU(value, d, row + i);
      even = hn::Add(even, value);
    } else {
      const auto value = op(d, load_first(d, row + i, part));
      store_first(value, d, row + i, part);
      odd = hn::Add(odd, hn::IfThenElseZero(hn::FirstN(d, part), value));
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

/// The sum of the products of two rows.
template <typename T>
HWY_INLINE T dot_rows(const T* lhs, const T* rhs, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    sum = hn::MulAdd(hn::LoadU(d, lhs + i), hn::LoadU(d, rhs + i), sum);
  }
  if (i < count) {
    const auto part = static_cast<size_t>(count - i);
    sum = hn::MulAdd(load_first(d, lhs + i, part), load_first(d, rhs + i, part), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
