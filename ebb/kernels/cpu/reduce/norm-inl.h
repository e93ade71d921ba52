// ebb/kernels/cpu/reduce/norm-inl.h -- sums and loops that the normalisations share, for every
// target.
//
// Sums are trees of a fixed shape over leaves of kTile elements, as in reduce-inl.h, but a leaf
// computes its terms on the way instead of reading them. Included once per target (see
// each_target.h).
#if defined(EBB_KERNELS_CPU_NORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_NORM_INL_H
#undef EBB_KERNELS_CPU_NORM_INL_H
#else
#define EBB_KERNELS_CPU_NORM_INL_H
#endif

#include <cmath>

#include "ebb/kernels/cpu/reduce/reduce-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// Two sums that are formed together.
template <class V>
struct SumPair {
  V first, second;
};
template <typename T>
struct SumPairOf {
  T first, second;
};

/// The sum of `count` terms on this thread; leaf(begin, count) adds up to kTile of them.
template <typename T, class Leaf>
HWY_INLINE T tree_sum(int64_t count, Leaf leaf) {
  const hn::ScalableTag<T> d;
  if (count <= kTile) return hn::GetLane(hn::SumOfLanes(d, leaf(int64_t{0}, count)));
  const auto add = [&](auto lhs, auto rhs) HWY_ATTR { return hn::Add(lhs, rhs); };
  T total = 0;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t end = std::min(count, begin + kChunk);
    PairTree<hn::Vec<decltype(d)>> tree;
    for (int64_t i = begin; i < end; i += kTile) tree.push(leaf(i, std::min(kTile, end - i)), add);
    total += hn::GetLane(hn::SumOfLanes(d, tree.result(add)));
  }
  return total;
}

/// The same for two sums at once.
template <typename T, class Leaf>
HWY_INLINE SumPairOf<T> tree_sum_pair(int64_t count, Leaf leaf) {
  const hn::ScalableTag<T> d;
  using Pair = SumPair<hn::Vec<decltype(d)>>;
  const auto lanes_of = [&](const Pair& pair) HWY_ATTR {
    return SumPairOf<T>{hn::GetLane(hn::SumOfLanes(d, pair.first)),
                        hn::GetLane(hn::SumOfLanes(d, pair.second))};
  };
  if (count <= kTile) return lanes_of(leaf(int64_t{0}, count));
  const auto add = [&](const Pair& lhs, const Pair& rhs) HWY_ATTR {
    return Pair{hn::Add(lhs.first, rhs.first), hn::Add(lhs.second, rhs.second)};
  };
  SumPairOf<T> total{0, 0};
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t end = std::min(count, begin + kChunk);
    PairTree<Pair> tree;
    for (int64_t i = begin; i < end; i += kTile) tree.push(leaf(i, std::min(kTile, end - i)), add);
    const SumPairOf<T> part = lanes_of(tree.result(add));
    total = {total.first + part.first, total.second + part.second};
  }
  return total;
}

/// The sum of (x - mean)^2 over a leaf, as one vector.
template <class D, typename T>
HWY_INLINE hn::Vec<D> squares_leaf(D d, const T* from, size_t count, LaneOf<T> mean) {
  const size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, mean);
  auto even = hn::Zero(d), odd = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto one = hn::Sub(load_lanes(d, from + i), shift);
    const auto two = hn::Sub(load_lanes(d, from + i + lanes), shift);
    even = hn::MulAdd(one, one, even);
    odd = hn::MulAdd(two, two, odd);
  }
  for (; i < count; i += lanes) {
    const size_t rest = HWY_MIN(lanes, count - i);
    const auto value = rest == lanes ? load_lanes(d, from + i) : load_first(d, from + i, rest);
    const auto one = hn::IfThenElseZero(hn::FirstN(d, rest), hn::Sub(value, shift));
    even = hn::MulAdd(one, one, even);
  }
  return hn::Add(even, odd);
}

/// The sums of g and of g * (x - mean) over a leaf.
template <class D, typename T>
HWY_INLINE SumPair<hn::Vec<D>> product_leaf(D d, const T* grad, const T* from, size_t count,
                                            LaneOf<T> mean) {
  const size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, mean);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), product0 = hn::Zero(d), product1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto one = load_lanes(d, grad + i), two = load_lanes(d, grad + i + lanes);
    sum0 = hn::Add(sum0, one);
    sum1 = hn::Add(sum1, two);
    product0 = hn::MulAdd(one, hn::Sub(load_lanes(d, from + i), shift), product0);
    product1 = hn::MulAdd(two, hn::Sub(load_lanes(d, from + i + lanes), shift), product1);
  }
  for (; i < count; i += lanes) {
    const size_t rest = HWY_MIN(lanes, count - i);
    const auto one = rest == lanes ? load_lanes(d, grad + i) : load_first(d, grad + i, rest);
    const auto value = rest == lanes ? load_lanes(d, from + i) : load_first(d, from + i, rest);
    sum0 = hn::Add(sum0, one);  // lanes behind the end hold 0
    product0 = hn::MulAdd(one, hn::Sub(value, shift), product0);
  }
  return {hn::Add(sum0, sum1), hn::Add(product0, product1)};
}

/// out = (x - mean) * scale + shift over a run with one set of factors. `out` may be `from`.
template <typename T>
HWY_INLINE void affine_run(const T* from, LaneOf<T> mean, LaneOf<T> scale, LaneOf<T> shift, T* out,
                           size_t count) {
  const hn::ScalableTag<LaneOf<T>> d;
  const size_t lanes = hn::Lanes(d);
  const auto means = hn::Set(d, mean), scales = hn::Set(d, scale), shifts = hn::Set(d, shift);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto centred = hn::Sub(load_lanes(d, from + i), means);
    store_lanes(hn::MulAdd(centred, scales, shifts), d, out + i);
  }
  if (i == count) return;
  const auto centred = hn::Sub(load_first(d, from + i, count - i), means);
  store_first(hn::MulAdd(centred, scales, shifts), d, out + i, count - i);
}

/// The factors of grad_input = g * of_grad + (x - mean) * of_centred + constant.
template <typename T>
struct GradFactors {
  T of_grad, of_centred, constant;
};

/// grad_input over a run with one set of factors. `out` may be `grad` or `from`.
template <typename T>
HWY_INLINE void grad_run(const T* grad, const T* from, LaneOf<T> mean,
                         GradFactors<LaneOf<T>> factors, T* out, size_t count) {
  const hn::ScalableTag<LaneOf<T>> d;
  const size_t lanes = hn::Lanes(d);
  const auto means = hn::Set(d, mean), of_grad = hn::Set(d, factors.of_grad);
  const auto of_centred = hn::Set(d, factors.of_centred);
  const auto constant = hn::Set(d, factors.constant);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto lead = hn::MulAdd(load_lanes(d, grad + i), of_grad, constant);
    const auto centred = hn::Sub(load_lanes(d, from + i), means);
    store_lanes(hn::MulAdd(centred, of_centred, lead), d, out + i);
  }
  if (i == count) return;
  const auto lead = hn::MulAdd(load_first(d, grad + i, count - i), of_grad, constant);
  const auto centred = hn::Sub(load_first(d, from + i, count - i), means);
  store_first(hn::MulAdd(centred, of_centred, lead), d, out + i, count - i);
}

/// 1 / sqrt(var + eps).
template <typename T>
HWY_INLINE T inverse_deviation(T var, double eps) {
  return T{1} / std::sqrt(var + static_cast<T>(eps));
}

template <typename T>
const T* optional_data(const TensorView* view) {
  return view == nullptr ? nullptr : view->as<const T>();
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
