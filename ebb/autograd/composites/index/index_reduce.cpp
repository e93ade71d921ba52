// ebb/autograd/composites/index/index_reduce.cpp -- what an index puts together, by scatter and
// index_add; elements named by their place in row-major order.
#include "ebb/autograd/ops/index_reduce.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/index.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/amax.h"
#include "ebb/autograd/ops/amin.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/flatnonzero.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_copy.h"
#include "ebb/autograd/ops/index_fill.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/masked_scatter.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/put.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter.h"
#include "ebb/autograd/ops/scatter_add.h"
#include "ebb/autograd/ops/scatter_amax.h"
#include "ebb/autograd/ops/scatter_amin.h"
#include "ebb/autograd/ops/scatter_prod.h"
#include "ebb/autograd/ops/scatter_reduce.h"
#include "ebb/autograd/ops/take.h"
#include "ebb/autograd/ops/take_along_dim.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

/// The number that changes no result of `reduce`.
Scalar neutral(std::string_view reduce, DType dtype) {
  if (reduce == "prod") return Scalar(int64_t{1});
  if (reduce != "amax" && reduce != "amin") return Scalar(int64_t{0});
  const bool is_largest = reduce == "amin";
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar(is_largest ? infinity : -infinity);
  }
  if (dtype == DType::boolean) return Scalar(is_largest);
  const int bits = static_cast<int>(8 * item_size(dtype));
  if (dtype == DType::uint8) return Scalar(int64_t{is_largest ? 255 : 0});
  const int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return Scalar(is_largest ? largest : -largest - 1);
}

Tensor reduced(const char* op, const Tensor& input, int64_t dim, const Tensor& index,
               const Tensor& src, std::string_view reduce, bool include_self) {
  if (reduce == "mean" && is_half(input.dtype()) && input.dtype() == src.dtype()) {
    const Tensor wide = reduced(op, autograd::widened(input), dim, index, autograd::widened(src),
                                reduce, include_self);
    return cast(wide, input.dtype());
  }
  const Tensor base =
      include_self ? input : scatter(input, dim, index, neutral(reduce, input.dtype()));
  if (reduce == "sum") return scatter_add(base, dim, index, src);
  if (reduce == "prod") return scatter_prod(base, dim, index, src);
  if (reduce == "mean") {
    if (input.dtype() == DType::boolean) {
      throw DTypeError(str(op, ": mean needs numbers, got ", describe(input)));
    }
    const Tensor ones = ones_like(input);
    const Tensor own = include_self ? ones : scatter(ones, dim, index, 0);
    const Tensor count = scatter_add(own, dim, index, ones_like(src));
    const Tensor total = scatter_add(base, dim, index, src);
    const Tensor divisor =
        is_complex(count.dtype()) ? where(eq(count, 0), 1, count) : clamp(count, 1);
    return is_integer(input.dtype()) ? div(total, divisor, "floor") : total / divisor;
  }
  if (is_complex(input.dtype())) {
    throw DTypeError(str(op, ": ", reduce, " needs numbers in order, got ", describe(input)));
  }
  return reduce == "amax" ? scatter_amax(base, dim, index, src)
                          : scatter_amin(base, dim, index, src);
}

/// `index`, the argument of that name, with negative places counted from the back of `count`.
Tensor counted_from_front(const char* op, const char* name, const Tensor& index, int64_t count) {
  if (index.numel() == 0 || is_meta(index)) return index;
  const StreamCheck check{
      .op = op, .name = name, .sizes = index.sizes(), .size = count, .wraps = true};
  if (ops::is_watched(index, check)) return where(less(index, 0), index + count, index);
  const int64_t low = amin(index).item<int64_t>(), high = amax(index).item<int64_t>();
  if (low < -count || high >= count) {
    throw IndexError(str(op, ": ", name, " must be from ", -count, " to ", count - 1, ", got ",
                         low < -count ? low : high));
  }
  return low < 0 ? where(less(index, 0), index + count, index) : index;
}

/// Places in row-major order, none negative, as a vector.
Tensor places(const char* op, const char* name, const Tensor& input, const Tensor& index) {
  const Tensor flat = cast(reshape(index, Shape{-1}), DType::int64);
  return counted_from_front(op, name, flat, input.numel());
}

}  // namespace

Tensor scatter_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self) {
  const autograd::operands::scatter_reduce call(input, index, src);
  for (const char* known : {"sum", "prod", "mean", "amax", "amin"}) {
    if (reduce == known) {
      return reduced("scatter_reduce", input, dim, index, src, reduce, include_self);
    }
  }
  throw ValueError(
      str("scatter_reduce: reduce needs sum, prod, mean, amax or amin, got ", in_quotes(reduce)));
}

Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
               std::string_view reduce) {
  const autograd::operands::scatter_joined call(input, index, src);
  if (reduce != "add" && reduce != "multiply") {
    throw ValueError(str("scatter: reduce needs add or multiply, got ", in_quotes(reduce)));
  }
  return reduced("scatter", input, dim, index, src, reduce == "add" ? "sum" : "prod", true);
}

Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value,
               std::string_view reduce) {
  const autograd::operands::scatter_value_joined call(input, index);
  return scatter(input, dim, index, full(index.shape(), value, input.dtype(), input.device()),
                 reduce);
}

Tensor index_fill(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& value) {
  const autograd::operands::index_fill_Tensor call(input, index, value);
  ops::infer::check_ndim("index_fill", "value", value, 0, 0);
  const int axis = normalize_dim("index_fill", dim, input);
  Shape shape(input.shape());
  if (!shape.empty()) shape[static_cast<size_t>(axis)] = index.numel();
  return index_copy(input, dim, index, expand(cast(value, input.dtype()), shape));
}

Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self) {
  const autograd::operands::index_reduce call(input, index, source);
  ops::infer::check_ndim("index_reduce", "index", index, 0, 1);
  const int axis = normalize_dim("index_reduce", dim, input);
  bool is_known = false;
  for (const char* known : {"prod", "mean", "amax", "amin"}) is_known |= reduce == known;
  if (!is_known) {
    throw ValueError(
        str("index_reduce: reduce needs prod, mean, amax or amin, got ", in_quotes(reduce)));
  }
  const int64_t slices = source.ndim() == 0 ? 1 : axis < source.ndim() ? source.size(axis) : -1;
  if (source.ndim() != input.ndim() || slices != index.numel()) {
    throw ShapeError(str("index_reduce: source needs one slice per index, got ", describe(source),
                         " for ", describe(index)));
  }
  Shape shape;
  for (int each = 0; each < source.ndim(); ++each) shape.push_back(each == axis ? -1 : 1);
  const Tensor whole = expand(reshape(index, shape), source.shape());
  return reduced("index_reduce", input, axis, whole, source, reduce, include_self);
}

Tensor take(const Tensor& input, const Tensor& index) {
  const autograd::operands::take call(input, index);
  const Tensor flat = reshape(input, Shape{-1});
  return reshape(index_select(flat, 0, places("take", "index", input, index)), index.shape());
}

Tensor take_along_dim(const Tensor& input, const Tensor& indices, std::optional<int64_t> dim) {
  constexpr const char* op = "take_along_dim";
  const autograd::operands::take_along_dim call(input, indices);
  if (!dim) return gather(reshape(input, Shape{-1}), 0, places(op, "indices", input, indices));
  const int axis = normalize_dim(op, *dim, input);
  if (input.ndim() != indices.ndim()) {
    throw ShapeError(str(op, ": input and indices need the same number of dims, got ",
                         describe(input), " and ", describe(indices)));
  }
  const int64_t size = input.ndim() == 0 ? 1 : input.size(axis);
  const Tensor at = counted_from_front(op, "indices", cast(indices, DType::int64), size);
  if (input.ndim() == 0) return gather(input, 0, at);
  Shape wide = input.shape();
  wide[axis] = 1;
  Shape narrow = indices.shape();
  narrow[axis] = 1;
  const Shape shape = broadcast_shapes(op, wide, narrow);
  wide = narrow = shape;
  wide[axis] = size;
  narrow[axis] = indices.size(axis);
  return gather(expand(input, wide), axis, expand(at, narrow));
}

Tensor put(const Tensor& input, const Tensor& index, const Tensor& source, bool accumulate) {
  const autograd::operands::put call(input, index, source);
  if (source.numel() != index.numel()) {
    throw ShapeError(str("put: source needs one element per index, got ", describe(source), " for ",
                         describe(index)));
  }
  const Tensor flat = reshape(input, Shape{-1}), values = reshape(source, Shape{-1});
  const Tensor at = places("put", "index", input, index);
  const Tensor out = accumulate ? index_add(flat, 0, at, values) : index_copy(flat, 0, at, values);
  return reshape(out, input.shape());
}

Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source) {
  const autograd::operands::masked_scatter call(input, mask, source);
  const Shape shape = broadcast_shapes("masked_scatter", input.sizes(), mask.sizes());
  const Tensor at = flatnonzero(reshape(expand(mask, shape), Shape{-1}));
  if (source.numel() < at.numel()) {
    throw ShapeError(str("masked_scatter: source needs at least ", at.numel(),
                         " elements, one per true one of mask, got ", describe(source)));
  }
  const Tensor values = narrow(reshape(source, Shape{-1}), 0, 0, at.numel());
  const Tensor flat = reshape(expand(input, shape), Shape{-1});
  return reshape(index_copy(flat, 0, at, values), shape);
}

// In place. What is recorded may save its operand, so it gets a copy of what is overwritten.

const Tensor& scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& src, std::string_view reduce, bool include_self) {
  const autograd::operands::scatter_reduce_inplace call(self, index, src);
  return copy_(self, scatter_reduce(clone(self), dim, index, src, reduce, include_self));
}

const Tensor& index_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                            const Tensor& source, std::string_view reduce, bool include_self) {
  const autograd::operands::index_reduce_inplace call(self, index, source);
  return copy_(self, index_reduce(clone(self), dim, index, source, reduce, include_self));
}

const Tensor& put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  const autograd::operands::put_inplace call(self, index, source);
  return copy_(self, put(clone(self), index, source, accumulate));
}

const Tensor& masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const autograd::operands::masked_scatter_inplace call(self, mask, source);
  return copy_(self, masked_scatter(clone(self), mask, source));
}

}  // namespace ebb
