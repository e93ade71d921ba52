// ebb/kernels/cpu/network/row_norm.cpp -- layer_norm, rms_norm and group_norm: rows normalised each
// by itself, and their gradients.
//
// A row is read from memory once: its mean, its variance around that mean (two passes, so nothing
// cancels) and the result are formed while it is in the cache. Gradients of weights are added up
// per piece of rows; pieces are then added in pairs. A piece is a block of samples times a block of
// groups, so that the sums of all pieces take no more memory than a fraction of the input, however
// many channels there are.
#include "ebb/kernels/tables/row_norm.h"

#include <algorithm>
#include <cstring>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/reduce/norm-inl.h"
#include "ebb/kernels/tables/row_norm_backward.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

template <typename T>
struct Moments {
  T mean, rstd;
};

template <typename T>
HWY_INLINE Moments<LaneOf<T>> moments_of(const RowNorm& norm, const T* row) {
  using Acc = LaneOf<T>;
  const hn::ScalableTag<Acc> d;
  const int64_t width = norm.width();
  const Acc count = static_cast<Acc>(width);
  Acc mean = 0;
  if (norm.is_centred) {
    mean = tree_sum<Acc>(width,
                         [&](int64_t begin, int64_t part) HWY_ATTR {
                           return reduce_leaf(SumOp{}, d, row + begin, static_cast<size_t>(part));
                         }) /
           count;
  }
  const Acc squares = tree_sum<Acc>(width, [&](int64_t begin, int64_t part) HWY_ATTR {
    return squares_leaf(d, row + begin, static_cast<size_t>(part), mean);
  });
  return {mean, inverse_deviation(squares / count, norm.eps)};
}

/// A row whose elements have a weight and a bias each.
template <bool has_weight, bool has_bias, typename T>
HWY_INLINE void normalize_row(const T* in, const LaneOf<T>* weight, const LaneOf<T>* bias,
                              Moments<LaneOf<T>> moments, T* out, size_t count) {
  const hn::ScalableTag<LaneOf<T>> d;
  const size_t lanes = hn::Lanes(d);
  const auto mean = hn::Set(d, moments.mean), rstd = hn::Set(d, moments.rstd);
  const auto result = [&](auto x, auto w, auto b) HWY_ATTR {
    const auto value = hn::Mul(hn::Sub(x, mean), rstd);
    if constexpr (has_weight && has_bias) return hn::MulAdd(value, w, b);
    if constexpr (has_weight && !has_bias) return hn::Mul(value, w);
    if constexpr (!has_weight && has_bias) return hn::Add(value, b);
    if constexpr (!has_weight && !has_bias) return value;
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = load_lanes(d, in + i);
    auto w = x, b = x;
    if constexpr (has_weight) w = load_lanes(d, weight + i);
    if constexpr (has_bias) b = load_lanes(d, bias + i);
    store_lanes(result(x, w, b), d, out + i);
  }
  if (i == count) return;
  const auto x = load_first(d, in + i, count - i);
  auto w = x, b = x;
  if constexpr (has_weight) w = load_first(d, weight + i, count - i);
  if constexpr (has_bias) b = load_first(d, bias + i, count - i);
  store_first(result(x, w, b), d, out + i, count - i);
}

/// One row of the result; `weight` and `bias` are those of its first channel, or null.
template <typename T>
HWY_INLINE void forward_row(const RowNorm& norm, const T* in, const LaneOf<T>* weight,
                            const LaneOf<T>* bias, T* out) {
  const auto moments = moments_of(norm, in);
  const auto width = static_cast<size_t>(norm.width());
  if (norm.inner == 1) {
    if (weight != nullptr && bias != nullptr)
      return normalize_row<true, true>(in, weight, bias, moments, out, width);
    if (weight != nullptr) return normalize_row<true, false>(in, weight, bias, moments, out, width);
    if (bias != nullptr) return normalize_row<false, true>(in, weight, bias, moments, out, width);
    return normalize_row<false, false>(in, weight, bias, moments, out, width);
  }
  for (int64_t channel = 0; channel < norm.channels; ++channel) {
    const auto scale = weight == nullptr ? moments.rstd : moments.rstd * weight[channel];
    const auto shift = bias == nullptr ? LaneOf<T>{0} : bias[channel];
    const int64_t at = channel * norm.inner;
    affine_run(in + at, moments.mean, scale, shift, out + at, static_cast<size_t>(norm.inner));
  }
}

template <typename T>
void row_norm_kernel(const Context&, const RowNorm& norm, const TensorView& input,
                     const TensorView* weight, const TensorView* bias, const TensorView& out) {
  using Acc = AccumulatorOf<T>;
  const int64_t width = norm.width();
  if (norm.rows == 0 || width == 0) return;
  const auto* const weights = optional_data<Acc>(weight);
  const auto* const biases = optional_data<Acc>(bias);
  const int64_t grain = std::max<int64_t>(1, kGrain / width);
  parallel_for(norm.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row % norm.groups * norm.channels;
      const Acc* const w = weights == nullptr ? nullptr : weights + first;
      const Acc* const b = biases == nullptr ? nullptr : biases + first;
      forward_row(norm, input.as<const T>() + row * width, w, b, out.as<T>() + row * width);
    }
  });
}

/// Where a row's share of the gradients of weight and bias is added; null if nobody wants them.
template <typename T>
struct WeightGrads {
  T* weight;
  T* bias;
};

/// The sums of v = g * weight and v * (x - mean) over [begin, begin + count) of a row whose
/// elements have a weight each. Adds g * (x - mean) * rstd and g to the gradients of weight and
/// bias.
template <bool has_weight, bool has_sums, class D, typename T, typename Acc = hn::TFromD<D>>
HWY_INLINE SumPair<hn::Vec<D>> weighted_leaf(D d, const T* grad, const T* in, const Acc* weight,
                                             Moments<Acc> moments, WeightGrads<Acc> sums,
                                             size_t count) {
  const size_t lanes = hn::Lanes(d);
  const auto mean = hn::Set(d, moments.mean), rstd = hn::Set(d, moments.rstd);
  auto sum = hn::Zero(d), product = hn::Zero(d);
  const auto step = [&](auto g, auto x, auto w) HWY_ATTR {
    const auto centred = hn::Sub(x, mean);
    const auto v = has_weight ? hn::Mul(g, w) : g;
    sum = hn::Add(sum, v);
    product = hn::MulAdd(v, centred, product);
    return hn::Mul(g, hn::Mul(centred, rstd));
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto g = load_lanes(d, grad + i);
    const auto w = has_weight ? load_lanes(d, weight + i) : g;
    const auto of_weight = step(g, load_lanes(d, in + i), w);
    if constexpr (has_sums) {
      store_lanes(hn::Add(load_lanes(d, sums.weight + i), of_weight), d, sums.weight + i);
      store_lanes(hn::Add(load_lanes(d, sums.bias + i), g), d, sums.bias + i);
    }
  }
  if (i < count) {
    const size_t rest = count - i;
    const auto g = load_first(d, grad + i, rest);
    const auto w = has_weight ? load_first(d, weight + i, rest) : g;
    const auto of_weight = step(g, load_first(d, in + i, rest), w);
    if constexpr (has_sums) {
      const auto before = load_first(d, sums.weight + i, rest);
      store_first(hn::Add(before, of_weight), d, sums.weight + i, rest);
      store_first(hn::Add(load_first(d, sums.bias + i, rest), g), d, sums.bias + i, rest);
    }
  }
  return {sum, product};
}

/// grad_input of a row whose elements have a weight each.
template <typename T>
HWY_INLINE void weighted_grad_row(const T* grad, const T* in, const LaneOf<T>* weight,
                                  LaneOf<T> mean, GradFactors<LaneOf<T>> factors, T* out,
                                  size_t count) {
  if (weight == nullptr) return grad_run(grad, in, mean, factors, out, count);
  const hn::ScalableTag<LaneOf<T>> d;
  const size_t lanes = hn::Lanes(d);
  const auto means = hn::Set(d, mean), of_grad = hn::Set(d, factors.of_grad);
  const auto of_centred = hn::Set(d, factors.of_centred);
  const auto constant = hn::Set(d, factors.constant);
  const auto result = [&](auto g, auto x, auto w) HWY_ATTR {
    const auto lead = hn::MulAdd(hn::Mul(g, w), of_grad, constant);
    return hn::MulAdd(hn::Sub(x, means), of_centred, lead);
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto w = load_lanes(d, weight + i);
    store_lanes(result(load_lanes(d, grad + i), load_lanes(d, in + i), w), d, out + i);
  }
  if (i == count) return;
  const size_t rest = count - i;
  const auto w = load_first(d, weight + i, rest);
  store_first(result(load_first(d, grad + i, rest), load_first(d, in + i, rest), w), d, out + i,
              rest);
}

/// From the sums of v and v * (x - mean), with v the gradient that reaches the normalised row.
template <typename T>
GradFactors<T> factors_of(const RowNorm& norm, Moments<T> moments, SumPairOf<T> sums) {
  const T share = moments.rstd / static_cast<T>(norm.width());
  const T of_centred = -share * moments.rstd * moments.rstd * sums.second;
  return {moments.rstd, of_centred, norm.is_centred ? -share * sums.first : T{0}};
}

template <typename T>
void backward_dense_row(const RowNorm& norm, const T* grad, const T* in, const LaneOf<T>* weight,
                        WeightGrads<LaneOf<T>> sums, T* out) {
  using Acc = LaneOf<T>;
  const hn::ScalableTag<Acc> d;
  const int64_t width = norm.width();
  const Moments<Acc> moments = moments_of(norm, in);
  const auto leaf = [&]<bool has_weight, bool has_sums>() HWY_ATTR {
    return tree_sum_pair<Acc>(width, [&](int64_t at, int64_t part) HWY_ATTR {
      const WeightGrads<Acc> here = {has_sums ? sums.weight + at : nullptr,
                                     has_sums ? sums.bias + at : nullptr};
      return weighted_leaf<has_weight, has_sums>(d, grad + at, in + at,
                                                 has_weight ? weight + at : nullptr, moments, here,
                                                 static_cast<size_t>(part));
    });
  };
  const bool has_sums = sums.weight != nullptr;
  SumPairOf<Acc> totals;
  if (weight != nullptr) {
    totals =
        has_sums ? leaf.template operator()<true, true>() : leaf.template operator()<true, false>();
  } else {
    totals = has_sums ? leaf.template operator()<false, true>()
                      : leaf.template operator()<false, false>();
  }
  if (out == nullptr) return;
  weighted_grad_row(grad, in, weight, moments.mean, factors_of(norm, moments, totals), out,
                    static_cast<size_t>(width));
}

/// A row whose channels are runs of elements.
template <typename T>
void backward_run_row(const RowNorm& norm, const T* grad, const T* in, const LaneOf<T>* weight,
                      WeightGrads<LaneOf<T>> sums, T* out) {
  using Acc = LaneOf<T>;
  const hn::ScalableTag<Acc> d;
  const Moments<Acc> moments = moments_of(norm, in);
  SumPairOf<Acc> totals{0, 0};
  for (int64_t channel = 0; channel < norm.channels; ++channel) {
    const T* const g = grad + channel * norm.inner;
    const T* const x = in + channel * norm.inner;
    const auto run = tree_sum_pair<Acc>(norm.inner, [&](int64_t at, int64_t part) HWY_ATTR {
      return product_leaf(d, g + at, x + at, static_cast<size_t>(part), moments.mean);
    });
    const Acc w = weight == nullptr ? Acc{1} : weight[channel];
    totals = {totals.first + w * run.first, totals.second + w * run.second};
    if (sums.weight == nullptr) continue;
    sums.weight[channel] += run.second * moments.rstd;
    sums.bias[channel] += run.first;
  }
  if (out == nullptr) return;
  GradFactors<Acc> factors = factors_of(norm, moments, totals);
  for (int64_t channel = 0; channel < norm.channels; ++channel) {
    factors.of_grad = weight == nullptr ? moments.rstd : moments.rstd * weight[channel];
    const int64_t at = channel * norm.inner;
    grad_run(grad + at, in + at, moments.mean, factors, out + at, static_cast<size_t>(norm.inner));
  }
}

/// Some samples and some groups of their channels.
struct Piece {
  int64_t first_sample, end_sample, first_group, end_group;
};

/// How rows are cut into pieces: how many samples and groups a piece has, and how many there are.
struct Cut {
  int64_t samples, groups, sample_blocks, group_blocks;

  Cut(const RowNorm& norm, bool has_sums) {
    const int64_t width = norm.width(), count = width == 0 ? 0 : norm.rows / norm.groups;
    const int64_t rows = std::clamp<int64_t>(kGrain / std::max<int64_t>(1, width), 1, 256);
    // Few elements per channel would spend time and memory on the gradients of the weights.
    const int64_t least = has_sums ? 1 + 15 / std::max<int64_t>(1, norm.inner) : 1;
    samples = std::min(std::max(rows / norm.groups, least), std::max<int64_t>(1, count));
    groups = std::clamp<int64_t>(rows / samples, 1, norm.groups);
    sample_blocks = (count + samples - 1) / samples;
    group_blocks = (norm.groups + groups - 1) / groups;
  }
  Piece piece(const RowNorm& norm, int64_t index) const {
    const int64_t sample = index / group_blocks * samples, group = index % group_blocks * groups;
    return {sample, std::min(sample + samples, norm.rows / norm.groups), group,
            std::min(group + groups, norm.groups)};
  }
};

/// Runs the rows of a piece backwards, adding to `sums`.
template <typename T>
void backward_piece(const RowNorm& norm, const TensorView& grad_out, const TensorView& input,
                    const AccumulatorOf<T>* weights, WeightGrads<AccumulatorOf<T>> sums,
                    const TensorView* grad_input, const Piece& piece) {
  using Acc = AccumulatorOf<T>;
  const int64_t width = norm.width();
  const auto run = [&](int64_t sample, int64_t group) {
    const int64_t first = group * norm.channels, at = (sample * norm.groups + group) * width;
    const Acc* const weight = weights == nullptr ? nullptr : weights + first;
    const bool has_sums = sums.weight != nullptr;
    const WeightGrads<Acc> here = {has_sums ? sums.weight + first : nullptr,
                                   has_sums ? sums.bias + first : nullptr};
    const T* const grad = grad_out.as<const T>() + at;
    const T* const in = input.as<const T>() + at;
    T* const out = grad_input == nullptr ? nullptr : grad_input->as<T>() + at;
    const auto run_row = norm.inner == 1 ? &backward_dense_row<T> : &backward_run_row<T>;
    run_row(norm, grad, in, weight, here, out);
  };
  for (int64_t sample = piece.first_sample; sample < piece.end_sample; ++sample) {
    for (int64_t group = piece.first_group; group < piece.end_group; ++group) run(sample, group);
  }
}

template <typename T>
void row_norm_backward_kernel(const Context&, const RowNorm& norm, const TensorView& grad_out,
                              const TensorView& input, const TensorView* weight,
                              const TensorView* grad_input, const TensorView* grad_weight,
                              const TensorView* grad_bias) {
  using Acc = AccumulatorOf<T>;
  const int64_t count = norm.groups * norm.channels;
  const bool has_sums = grad_weight != nullptr || grad_bias != nullptr;
  const Cut cut(norm, has_sums);
  const int64_t tables = std::max<int64_t>(1, cut.sample_blocks);
  const auto table_bytes = static_cast<size_t>(2 * count) * sizeof(Acc);
  const Scratch scratch(has_sums ? static_cast<size_t>(tables) * table_bytes + 1 : 1);
  auto* const sums = has_sums ? scratch.as<Acc>() : nullptr;
  if (has_sums) std::memset(sums, 0, static_cast<size_t>(tables) * table_bytes);
  parallel_for(cut.sample_blocks * cut.group_blocks, 1, [&](int64_t index, int64_t) {
    Acc* const own = has_sums ? sums + index / cut.group_blocks * 2 * count : nullptr;
    backward_piece<T>(norm, grad_out, input, optional_data<Acc>(weight),
                      {own, has_sums ? own + count : nullptr}, grad_input, cut.piece(norm, index));
  });
  if (!has_sums) return;
  for (int64_t step = 1; step < tables; step *= 2) {
    for (int64_t i = 0; i + step < tables; i += 2 * step) {
      add_row(SumOp{}, sums + i * 2 * count, sums + (i + step) * 2 * count,
              static_cast<size_t>(2 * count));
    }
  }
  if (grad_weight != nullptr) std::copy_n(sums, count, grad_weight->as<Acc>());
  if (grad_bias != nullptr) std::copy_n(sums + count, count, grad_bias->as<Acc>());
}

template <typename... T>
void set() {
  (row_norm_kernels.set_cpu(dtype_of<T>, &row_norm_kernel<T>), ...);
  (row_norm_backward_kernels.set_cpu(dtype_of<T>, &row_norm_backward_kernel<T>), ...);
}

}  // namespace

void fill_row_norm() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
