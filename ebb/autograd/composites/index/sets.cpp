// ebb/autograd/composites/index/sets.cpp -- which values there are, and how often: runs of equal
// elements in an order.
#include "ebb/autograd/operands/sets.h"

#include <cmath>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/amax.h"
#include "ebb/autograd/ops/amin.h"
#include "ebb/autograd/ops/any.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/bincount.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/cumsum.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/flatnonzero.h"
#include "ebb/autograd/ops/floor.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/ge.h"
#include "ebb/autograd/ops/histc.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_copy.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/isin.h"
#include "ebb/autograd/ops/le.h"
#include "ebb/autograd/ops/logical_and.h"
#include "ebb/autograd/ops/logical_not.h"
#include "ebb/autograd/ops/masked_select.h"
#include "ebb/autograd/ops/movedim.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/searchsorted.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sort.h"
#include "ebb/autograd/ops/unique.h"
#include "ebb/autograd/ops/unique_consecutive.h"
#include "ebb/autograd/ops/without_derivative.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/linalg/linalg_support.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using Found = std::tuple<Tensor, Tensor, Tensor>;

struct Wanted {
  bool inverse;
  bool counts;
};

/// The slices along `dim` as rows [n, m], or the elements as one vector [n].
Tensor rows_of(const char* op, const Tensor& input, std::optional<int64_t> dim) {
  if (!dim) return reshape(input, Shape{-1});
  const Tensor first = movedim(input, {normalize_dim(op, *dim, input)}, {0});
  const int64_t count = first.size(0);
  return reshape(first, Shape{count, count == 0 ? 0 : first.numel() / count});
}

/// Rows in the order of their elements, the first element first.
Tensor order_of(const Tensor& rows) {
  if (rows.ndim() == 1) return std::get<1>(sort(rows, 0, false, true));
  Tensor order = arange(0, rows.size(0), 1, DType::int64, rows.device());
  // Sorts are stable, so the last one decides and earlier ones break its ties.
  for (int64_t column = rows.size(1) - 1; column >= 0; --column) {
    const Tensor keys = index_select(select(rows, 1, column), 0, order);
    order = index_select(order, 0, std::get<1>(sort(keys, 0, false, true)));
  }
  return order;
}

/// Whether each row begins a run of equal ones, bool [n].
Tensor begins_run(const Tensor& rows) {
  const int64_t count = rows.size(0);
  const Tensor first =
      full(Shape{std::min<int64_t>(count, 1)}, true, DType::boolean, rows.device());
  if (count < 2) return first;
  Tensor differs = ne(narrow(rows, 0, 1, count - 1), narrow(rows, 0, 0, count - 1));
  if (rows.ndim() == 2) differs = any(differs, Shape{1});
  return cat(std::vector{first, differs}, 0);
}

/// One of each run of `rows`, which are those of `input` in the given order (as they are, if
/// that is undefined).
Found runs_of(const Tensor& input, const Tensor& rows, const Tensor& order,
              std::optional<int64_t> dim, Wanted wanted) {
  const Tensor begins = begins_run(rows);
  const Tensor starts = flatnonzero(begins);
  const int64_t count = rows.size(0);
  const Device device = input.device();
  Tensor values = index_select(rows, 0, starts);
  if (dim) {
    Shape shape = movedim(input, {*dim}, {0}).shape();
    shape[0] = starts.numel();
    values = movedim(reshape(values, shape), {0}, {*dim});
  }
  Tensor inverse = empty(Shape{0}, DType::int64, device);
  if (wanted.inverse) {
    inverse = cumsum(begins, 0) - 1;
    if (order.defined())
      inverse = index_copy(empty(Shape{count}, DType::int64, device), 0, order, inverse);
    if (!dim) inverse = reshape(inverse, input.shape());
  }
  Tensor counts = empty(Shape{0}, DType::int64, device);
  if (wanted.counts) {
    const Tensor ends = cat(std::vector{starts, full(Shape{1}, count, DType::int64, device)}, 0);
    counts = narrow(ends, 0, 1, starts.numel()) - starts;
  }
  return {values, inverse, counts};
}

/// The values as a function of the input: a gradient that they get is refused.
Found of_input(const char* op, const Tensor& input, const Found& found) {
  if (!autograd::rules::is_followed(input)) return found;
  return {without_derivative(input, std::get<0>(found), op), std::get<1>(found),
          std::get<2>(found)};
}

}  // namespace

Found unique(const Tensor& input, bool return_inverse, bool return_counts,
             std::optional<int64_t> dim) {
  const autograd::operands::unique call(input);
  const Tensor given = detach(input), rows = rows_of("unique", given, dim);
  const Wanted wanted{return_inverse, return_counts};
  if (rows.ndim() == 1) {
    const auto [sorted, order] = sort(rows, 0, false, true);
    return of_input("unique", input, runs_of(given, sorted, order, dim, wanted));
  }
  const Tensor order = order_of(rows), sorted = index_select(rows, 0, order);
  return of_input("unique", input, runs_of(given, sorted, order, dim, wanted));
}

Found unique_consecutive(const Tensor& input, bool return_inverse, bool return_counts,
                         std::optional<int64_t> dim) {
  const autograd::operands::unique_consecutive call(input);
  const Tensor given = detach(input), rows = rows_of("unique_consecutive", given, dim);
  const Found found = runs_of(given, rows, {}, dim, {return_inverse, return_counts});
  return of_input("unique_consecutive", input, found);
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool /*assume_unique*/,
            bool invert) {
  const autograd::operands::isin call(elements, test_elements);
  const NoGradGuard no_grad;
  const DType dtype = promote(elements.dtype(), test_elements.dtype());
  const Tensor wanted = cast(elements, dtype);
  const int64_t count = test_elements.numel();
  if (count == 0) return full(elements.shape(), invert, DType::boolean, elements.device());
  const Tensor known = std::get<0>(sort(reshape(cast(test_elements, dtype), Shape{-1}), 0));
  const Tensor place = reshape(searchsorted(known, reshape(wanted, Shape{-1})), Shape{-1});
  const Tensor nearest = index_select(known, 0, clamp(place, {}, count - 1));
  const Tensor found = eq(reshape(nearest, wanted.shape()), wanted);
  return invert ? logical_not(found) : found;
}

Tensor bincount(const Tensor& input, const Tensor& weights, int64_t minlength) {
  const autograd::operands::bincount call(input, weights);
  ops::infer::check_ndim("bincount", "input", input, 1, 1);
  if (minlength < 0)
    throw ValueError(str("bincount: minlength must be at least 0, got ", minlength));
  if (weights.defined()) ops::infer::check_same_shape("bincount", "weights", weights, input);
  int64_t length = minlength;
  if (input.numel() > 0) {
    const int64_t smallest = amin(input).item<int64_t>();
    if (smallest < 0) throw ValueError(str("bincount: input must be at least 0, got ", smallest));
    int64_t needed = 0;
    if (const auto largest = amax(input).item<int64_t>();
        __builtin_add_overflow(largest, 1, &needed)) {
      throw ValueError(str("bincount: input must be below ", largest, ", got ", largest));
    }
    length = std::max(length, needed);
  }
  const bool is_wide = input.dtype() == DType::int64;  // a cast would copy even so
  const Tensor places = is_wide ? input : cast(input, DType::int64);
  const Tensor added =
      weights.defined() ? (is_floating(weights.dtype()) ? weights : cast(weights, DType::float64))
                        : expand(full(Shape{1}, 1, DType::int64, input.device()), places.shape());
  return index_add(zeros(Shape{length}, added.dtype(), input.device()), 0, places, added);
}

Tensor histc(const Tensor& input, int64_t bins, const Scalar& min, const Scalar& max) {
  const autograd::operands::histc call(input);
  const NoGradGuard no_grad;
  if (bins < 1) throw ValueError(str("histc: bins must be at least 1, got ", bins));
  double low = min.to_double(), high = max.to_double();
  if (low == high && input.numel() > 0 && !is_meta(input)) {
    low = amin(input).item<double>();
    high = amax(input).item<double>();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    throw ValueError(str("histc: needs finite min and max in order, got ", low, " and ", high));
  }
  if (is_meta(input)) return empty(Shape{bins}, input.dtype(), input.device());
  const Tensor flat = reshape(input, Shape{-1});
  const Tensor inside = masked_select(flat, logical_and(ge(flat, low), le(flat, high)));
  const DType wide = is_half(input.dtype()) ? DType::float32 : input.dtype();
  const Tensor place = floor((cast(inside, wide) - low) / (high - low) * static_cast<double>(bins));
  const Tensor places = clamp(cast(place, DType::int64), {}, bins - 1);
  const Tensor counts =
      index_add(zeros(Shape{bins}, DType::int64, input.device()), 0, places, ones_like(places));
  return cast(counts, input.dtype());
}

}  // namespace ebb
