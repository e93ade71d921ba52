// ebb/autograd/composites/index/places.cpp -- diagonals, coordinates, searches: ops that say
// where elements are, made of others.
#include "ebb/autograd/operands/places.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/arrange.h"
#include "ebb/autograd/operands/sort.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/amax.h"
#include "ebb/autograd/ops/amin.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/as_strided.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/cumsum.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/fill_diagonal_.h"
#include "ebb/autograd/ops/floor_divide.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/less.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/nonzero.h"
#include "ebb/autograd/ops/nonzero_static.h"
#include "ebb/autograd/ops/remainder.h"
#include "ebb/autograd/ops/repeat_interleave.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/search_in_order.h"
#include "ebb/autograd/ops/searchsorted.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/sum_to_size.h"
#include "ebb/autograd/ops/unravel_index.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

/// Places in row-major order among `count`, none negative.
Tensor checked_places(const Tensor& indices, int64_t count) {
  const Tensor places = cast(indices, DType::int64);
  if (places.numel() == 0 || is_meta(places)) return places;
  const StreamCheck check{.op = "unravel_index",
                          .name = "indices",
                          .sizes = places.sizes(),
                          .size = count,
                          .wraps = true};
  if (ops::is_watched(places, check)) return where(less(places, 0), places + count, places);
  const int64_t low = amin(places).item<int64_t>(), high = amax(places).item<int64_t>();
  if (low < -count || high >= count) {
    throw IndexError(str("unravel_index: indices must be from ", -count, " to ", count - 1,
                         ", got ", low < -count ? low : high));
  }
  return low < 0 ? where(less(places, 0), places + count, places) : places;
}

}  // namespace

const Tensor& fill_diagonal_(const Tensor& self, const Scalar& fill_value, bool wrap) {
  const autograd::operands::fill_diagonal__inplace call(self);
  ops::infer::check_ndim("fill_diagonal_", "self", self, 2, kMaxDims);
  if (self.ndim() == 2) {
    const int64_t height = self.size(0), band = wrap ? self.size(1) + 1 : height;
    for (int64_t row = 0; row < height; row += band) {
      fill_(diagonal(narrow(self, 0, row, std::min(band, height - row))), fill_value);
    }
    return self;
  }
  int64_t stride = 0;
  for (int dim = 0; dim < self.ndim(); ++dim) {
    stride += self.strides()[static_cast<size_t>(dim)];
    if (self.size(dim) == self.size(0)) continue;
    throw ShapeError(
        str("fill_diagonal_: more than two sizes must be equal, got ", describe(self)));
  }
  fill_(as_strided(self, Shape{self.size(0)}, Shape{stride}), fill_value);
  return self;
}

Tensor sum_to_size(const Tensor& input, IntSpan size) {
  const autograd::operands::sum_to_size call(input);
  const int lead = input.ndim() - static_cast<int>(size.size());
  Shape summed;
  bool fits = lead >= 0;
  for (int dim = 0; fits && dim < input.ndim(); ++dim) {
    const int64_t wanted = dim < lead ? 1 : size[static_cast<size_t>(dim - lead)];
    fits = wanted == input.size(dim) || wanted == 1;
    if (dim < lead || wanted != input.size(dim)) summed.push_back(dim);
  }
  if (!fits) {
    throw ShapeError(str("sum_to_size: size must broadcast to the shape of input, got ",
                         PrintShape{size}, " for ", describe(input)));
  }
  return summed.empty() ? input : reshape(sum(input, IntSpan(summed), true), size);
}

Tensor nonzero_static(const Tensor& input, int64_t size, int64_t fill_value) {
  const autograd::operands::nonzero_static call(input);
  if (size < 0) throw ValueError(str("nonzero_static: size must be at least 0, got ", size));
  if (is_meta(input)) return empty(Shape{size, input.ndim()}, DType::int64, input.device());
  const Tensor rows = nonzero(input);
  const int64_t lacking = size - rows.size(0);
  if (lacking <= 0) return narrow(rows, 0, 0, size);
  const Shape shape{lacking, rows.size(1)};
  return cat(std::vector{rows, full(shape, fill_value, DType::int64, input.device())});
}

std::vector<Tensor> unravel_index(const Tensor& indices, IntSpan shape) {
  const autograd::operands::unravel_index call(indices);
  Tensor rest = checked_places(indices, checked_numel("unravel_index", shape, 1));
  std::vector<Tensor> coordinates(shape.size());
  for (size_t dim = shape.size(); dim-- > 1;) {
    const int64_t size = std::max<int64_t>(shape[dim], 1);  // of nothing, no places are left
    coordinates[dim] = remainder(rest, size);
    rest = floor_divide(rest, size);
  }
  if (!shape.empty()) coordinates[0] = rest;
  return coordinates;
}

namespace {

/// Whether a search looks right of equal elements.
bool looks_right(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  if (*side != "left" && *side != "right") {
    throw ValueError(str("searchsorted: side must be 'left' or 'right', got ", in_quotes(*side)));
  }
  if (right && *side == "left") {
    throw ValueError("searchsorted: side and right must not differ, got 'left' and right=True");
  }
  return *side == "right";
}

/// `sequence` as `sorter` orders it.
Tensor ordered(const Tensor& sequence, const Tensor& sorter) {
  if (!sorter.defined()) return sequence;
  if (sorter.shape() != sequence.shape()) {
    throw ShapeError(str("searchsorted: sorter needs the shape of sorted_sequence, got ",
                         describe(sorter), " for ", describe(sequence)));
  }
  return gather(sequence, -1, sorter);
}

/// The place that each element of the result is copied from. Throws unless `output_size`, if
/// given, is their number.
Tensor sources_of(const Tensor& repeats, std::optional<int64_t> output_size) {
  constexpr const char* op = "repeat_interleave";
  if (is_meta(repeats)) {  // the size is as it was given
    if (!output_size) throw_no_elements(op, "give output_size, the sum of repeats");
    return empty(Shape{*output_size}, DType::int64, repeats.device());
  }
  const int64_t least = repeats.numel() == 0 ? 0 : amin(repeats).item<int64_t>();
  if (least < 0) throw ValueError(str(op, ": repeats must be at least 0, got ", least));
  const Tensor ends = cumsum(repeats, 0, DType::int64);
  const int64_t total = ends.numel() == 0 ? 0 : select(ends, 0, -1).item<int64_t>();
  if (output_size.value_or(total) != total) {
    throw ValueError(
        str(op, ": output_size must be the sum of repeats, ", total, ", got ", *output_size));
  }
  return searchsorted(ends, arange(total, DType::int64, repeats.device()), false, true);
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& input, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  const autograd::operands::searchsorted call(sorted_sequence, input, sorter);
  const bool is_right = looks_right(right, side);
  const Tensor sorted = ordered(sorted_sequence, sorter);
  const DType common = promote(sorted.dtype(), input.dtype());
  return search_in_order(sorted.dtype() == common ? sorted : cast(sorted, common),
                         input.dtype() == common ? input : cast(input, common), out_int32,
                         is_right);
}

Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& input, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  const autograd::operands::searchsorted_number call(sorted_sequence, sorter);
  const Tensor number = full(Shape{}, input, sorted_sequence.dtype(), sorted_sequence.device());
  return searchsorted(sorted_sequence, number, out_int32, right, side, sorter);
}

Tensor repeat_interleave(const Tensor& input, const Tensor& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const autograd::operands::repeat_interleave_counts call(input, repeats);
  const Tensor source = dim && input.ndim() > 0 ? input : reshape(input, Shape{input.numel()});
  const int axis = normalize_dim("repeat_interleave", dim.value_or(0), source);
  const int64_t count = source.size(axis);
  if (repeats.ndim() > 1 || (repeats.numel() != 1 && repeats.numel() != count)) {
    throw ShapeError(str("repeat_interleave: repeats needs one element, or the ", count, " of dim ",
                         axis, ", got ", describe(repeats)));
  }
  const Tensor each = expand(reshape(repeats, Shape{-1}), Shape{count});
  return index_select(source, axis, sources_of(each, output_size));
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) {
  const autograd::operands::repeat_interleave_places call(repeats);
  ops::infer::check_ndim("repeat_interleave", "repeats", repeats, 1, 1);
  return sources_of(repeats, output_size);
}

}  // namespace ebb
