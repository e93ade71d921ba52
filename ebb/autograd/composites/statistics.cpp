// ebb/autograd/composites/statistics.cpp -- what is at a place of the order, what occurs most
// often, how variables vary together.
#include "ebb/autograd/operands/statistics.h"

#include <limits>

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/amax.h"
#include "ebb/autograd/ops/amin.h"
#include "ebb/autograd/ops/aminmax.h"
#include "ebb/autograd/ops/argmax.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/ceil.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/complex.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/corrcoef.h"
#include "ebb/autograd/ops/cov.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/floor.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/imag.h"
#include "ebb/autograd/ops/lerp.h"
#include "ebb/autograd/ops/logical_or.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/median.h"
#include "ebb/autograd/ops/mode.h"
#include "ebb/autograd/ops/movedim.h"
#include "ebb/autograd/ops/nanmedian.h"
#include "ebb/autograd/ops/nanquantile.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/quantile.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/round.h"
#include "ebb/autograd/ops/searchsorted.h"
#include "ebb/autograd/ops/sort.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

void check_not_empty(const char* op, const Tensor& input) {
  if (input.numel() > 0) return;
  throw ValueError(str(op, ": input needs at least one element, got ", describe(input)));
}

/// How quantile() was called.
struct QuantileCall {
  const char* op;
  std::optional<int64_t> dim;
  bool keepdim;
  std::string_view interpolation;
  bool skips_nan;
};

void check_interpolation(const QuantileCall& call) {
  for (const char* known : {"linear", "lower", "higher", "midpoint", "nearest"}) {
    if (call.interpolation == known) return;
  }
  throw ValueError(str(call.op,
                       ": interpolation needs linear, lower, higher, midpoint or nearest, ", "got ",
                       in_quotes(call.interpolation)));
}

/// What is at `ranks` [..., k], places from 0 to n - 1, of `sorted` [..., n].
Tensor at_ranks(const QuantileCall& call, const Tensor& sorted, const Tensor& ranks) {
  const auto at = [&](const Tensor& places) {
    return gather(sorted, -1, cast(places, DType::int64));
  };
  if (call.interpolation == "lower") return at(floor(ranks));
  if (call.interpolation == "higher") return at(ceil(ranks));
  if (call.interpolation == "nearest") return at(round(ranks));
  const Tensor below = floor(ranks);
  const Tensor low = at(below), high = at(ceil(ranks));
  const Tensor share =
      call.interpolation == "linear" ? ranks - below : cast(ne(ranks, below), ranks.dtype()) * 0.5;
  // Between equal elements nothing is worked out: infinite ones would give NaN.
  return where(eq(low, high), low, lerp(low, high, cast(share, low.dtype())));
}

/// The quantiles along the last dim at the shares `q` [k] of float64: [..., k].
Tensor quantiles(const QuantileCall& call, const Tensor& lines, const Tensor& q) {
  const Tensor sorted = std::get<0>(sort(lines, -1, false, true));
  const int64_t last = lines.size(-1) - 1;
  Shape shape = lines.shape();
  shape[shape.ndim() - 1] = q.numel();
  Tensor ranks;
  if (call.skips_nan) {
    const Tensor count = sum(eq(lines, lines), Shape{-1}, true);
    ranks = clamp(count - 1, 0) * q;
  } else {
    // NaN stands behind all others: a line that has one gives it.
    const Tensor end = narrow(sorted, -1, last, 1);
    ranks = where(eq(end, end), expand(q * static_cast<double>(last), shape),
                  full({}, static_cast<double>(last), DType::float64, q.device()));
  }
  return at_ranks(call, sorted, expand(ranks, shape));
}

void check_share(const char* op, double least, double most) {
  if (least >= 0 && most <= 1) return;  // neither for NaN
  throw ValueError(str(op, ": q must be from 0 to 1, got ", least >= 0 ? most : least));
}

void check_shares(const char* op, const Tensor& q) {
  if (q.numel() == 0 || is_meta(q)) return;
  const StreamCheck check{.op = op, .name = "q", .sizes = q.sizes(), .claim = "from 0 to 1"};
  if (ops::is_range_watched(q, 0, 1, check)) return;
  check_share(op, amin(q).item<double>(), amax(q).item<double>());
}

/// `q` has been looked at.
Tensor quantile_of(const QuantileCall& call, const Tensor& input, const Tensor& q) {
  check_interpolation(call);
  const int axis = call.dim ? normalize_dim(call.op, *call.dim, input) : 0;
  check_not_empty(call.op, input);
  const Tensor shares = reshape(cast(q, DType::float64), Shape{-1});
  const bool is_whole = !call.dim || input.ndim() == 0;
  const Tensor lines = is_whole ? reshape(input, Shape{-1}) : movedim(input, {axis}, {-1});
  Tensor found = quantiles(call, lines, shares);
  Shape kept;
  if (call.keepdim) {
    for (int dim = 0; dim < input.ndim(); ++dim) {
      kept.push_back(is_whole || dim == axis ? 1 : input.size(dim));
    }
  }
  found = movedim(found, {-1}, {0});
  if (call.keepdim) {
    Shape shape = {q.numel()};
    for (const int64_t size : kept) shape.push_back(size);
    found = reshape(found, shape);
  }
  return q.ndim() == 0 ? squeeze(found, 0) : found;
}

Tensor number(double value, const Tensor& like) {
  return full({}, value, DType::float64, like.device());
}

void check_line(const char* op, const Tensor& input, int axis) {
  if (input.ndim() == 0 || input.size(axis) > 0) return;
  throw ValueError(
      str(op, ": input needs at least one element along dim ", axis, ", got ", describe(input)));
}

using Pair = std::tuple<Tensor, Tensor>;

/// The last dim of both back at `axis`, or gone.
Pair placed(const Tensor& values, const Tensor& indices, const Tensor& input, int axis,
            bool keepdim) {
  if (input.ndim() == 0) return {reshape(values, Shape{}), reshape(indices, Shape{})};
  if (!keepdim) return {squeeze(values, -1), squeeze(indices, -1)};
  return {movedim(values, {-1}, {axis}), movedim(indices, {-1}, {axis})};
}

Tensor as_lines(const Tensor& input, int axis) {
  return input.ndim() == 0 ? reshape(input, Shape{1}) : movedim(input, {axis}, {-1});
}

}  // namespace

Tensor quantile(const Tensor& input, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  const autograd::operands::quantile call(input, q);
  check_ndim("quantile", "q", q, 0, 1);
  check_shares("quantile", q);
  return quantile_of({"quantile", dim, keepdim, interpolation, false}, input, q);
}

Tensor quantile(const Tensor& input, double q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  const autograd::operands::quantile_number call(input);
  check_share("quantile", q, q);
  return quantile_of({"quantile", dim, keepdim, interpolation, false}, input, number(q, input));
}

Tensor nanquantile(const Tensor& input, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  const autograd::operands::nanquantile call(input, q);
  check_ndim("nanquantile", "q", q, 0, 1);
  check_shares("nanquantile", q);
  return quantile_of({"nanquantile", dim, keepdim, interpolation, true}, input, q);
}

Tensor nanquantile(const Tensor& input, double q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  const autograd::operands::nanquantile_number call(input);
  check_share("nanquantile", q, q);
  return quantile_of({"nanquantile", dim, keepdim, interpolation, true}, input, number(q, input));
}

Tensor nanmedian(const Tensor& input) {
  const autograd::operands::nanmedian call(input);
  if (input.numel() == 0 && is_floating(input.dtype())) return median(input);  // NaN
  check_not_empty("nanmedian", input);
  const Tensor found = std::get<0>(nanmedian(detach(reshape(input, Shape{-1})), 0, false));
  if (!autograd::rules::is_followed(input)) return found;
  // As the largest of those that equal it, which share the gradient.
  const Tensor is_equal = logical_or(eq(input, found), ne(found, found));
  return amax(where(is_equal, input, -std::numeric_limits<double>::infinity()));
}

Pair nanmedian(const Tensor& input, int64_t dim, bool keepdim) {
  const autograd::operands::nanmedian_dim call(input);
  const int axis = normalize_dim("nanmedian", dim, input);
  check_line("nanmedian", input, axis);
  const Tensor lines = as_lines(input, axis);
  const auto [sorted, order] = sort(lines, -1, false, true);
  const Tensor count = sum(eq(lines, lines), Shape{-1}, true);
  const Tensor middle = clamp(cast(floor((count - 1) / 2), DType::int64), 0);
  return placed(gather(sorted, -1, middle), gather(order, -1, middle), input, axis, keepdim);
}

Pair mode(const Tensor& input, int64_t dim, bool keepdim) {
  const autograd::operands::mode call(input);
  const int axis = normalize_dim("mode", dim, input);
  check_line("mode", input, axis);
  const auto [sorted, order] = sort(as_lines(input, axis), -1, false, true);
  // Each element's run in its line reaches from the first place that is not less to the first that
  // is greater; the first longest run is that of the smallest element.
  const Tensor ends = searchsorted(sorted, sorted, false, true);
  const Tensor lengths = ends - searchsorted(sorted, sorted);
  const Tensor longest = argmax(lengths, -1, true);
  const Tensor place = gather(ends, -1, longest) - 1;
  return placed(gather(sorted, -1, place), gather(order, -1, place), input, axis, keepdim);
}

Pair aminmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  const autograd::operands::aminmax call(input);
  if (!dim) return {amin(input, std::nullopt, keepdim), amax(input, std::nullopt, keepdim)};
  const Shape dims = {*dim};
  return {amin(input, dims, keepdim), amax(input, dims, keepdim)};
}

Tensor cov(const Tensor& input, int64_t correction, const Tensor& fweights,
           const Tensor& aweights) {
  const autograd::operands::cov call(input, fweights, aweights);
  check_ndim("cov", "input", input, 0, 2);
  DType dtype = input.dtype();
  if (aweights.defined()) dtype = promote(dtype, aweights.dtype());
  const Tensor values =
      cast(input, is_differentiable(dtype) ? autograd::widened(dtype) : default_dtype());
  const Tensor rows = values.ndim() == 2 ? values : reshape(values, Shape{1, -1});
  const int64_t count = rows.size(1);
  const DType real_dtype = real_type_of(rows.dtype());
  const auto row_of = [&](const char* name, const Tensor& weights) {
    if (weights.ndim() != 1 || weights.numel() != count) {
      throw ShapeError(str("cov: ", name, " needs one element per column, got ", describe(weights),
                           " for ", describe(input)));
    }
    return cast(weights, real_dtype);
  };
  Tensor weights;
  if (fweights.defined()) weights = row_of("fweights", fweights);
  if (aweights.defined()) {
    const Tensor shares = row_of("aweights", aweights);
    weights = weights.defined() ? weights * shares : shares;
  }
  Tensor total, divisor;
  if (!weights.defined()) {
    total = full({}, static_cast<double>(count), real_dtype, input.device());
    divisor = total - static_cast<double>(correction);
  } else {
    total = sum(weights);
    const Tensor counted = aweights.defined() ? sum(weights * cast(aweights, real_dtype)) / total
                                              : full({}, 1.0, real_dtype, input.device());
    divisor = total - counted * static_cast<double>(correction);
  }
  const Tensor weighed = weights.defined() ? rows * weights : rows;
  const Tensor off = rows - sum(weighed, Shape{1}, true) / total;
  const Tensor counted = weights.defined() ? off * weights : off;
  const Tensor found = matmul(counted, transpose(conj(off), 0, 1)) / clamp(divisor, 0);
  return autograd::narrowed(rows.size(0) == 1 ? reshape(found, Shape{}) : found, dtype);
}

Tensor corrcoef(const Tensor& input) {
  const autograd::operands::corrcoef call(input);
  check_ndim("corrcoef", "input", input, 0, 2);
  const DType dtype = input.dtype();
  const Tensor found = cov(autograd::widened(input), 1, {}, {});
  if (found.ndim() == 0) return autograd::narrowed(found / found, dtype);  // NaN if it is constant
  const Tensor spread = sqrt(real(diagonal(found)));
  const Tensor scaled = found / unsqueeze(spread, 1) / unsqueeze(spread, 0);
  // Rounding may lead over 1.
  if (!is_complex(scaled.dtype())) return autograd::narrowed(clamp(scaled, -1, 1), dtype);
  return complex(clamp(real(scaled), -1, 1), clamp(imag(scaled), -1, 1));
}

}  // namespace ebb
