// ebb/autograd/composites/network/grid.cpp -- affine_grid and grid_sample: images seen through a
// grid.
//
// A place lies between elements of the image. Along each dim it has taps: elements nearby, each
// with a weight that depends on the place; those outside of the image weigh nothing. All
// combinations of taps are gathered and added up. Everything is made of recorded ops, so
// derivatives follow.
#include "ebb/autograd/operands/grid.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/affine_grid.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/floor.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/grid_sample.h"
#include "ebb/autograd/ops/logical_and.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul0.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/round.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

/// `count` places from -1 to 1 along dim `dim` of `image`, as a tensor of its shape.
Tensor places_along(const Shape& image, int dim, bool align_corners, const Tensor& like) {
  const int64_t count = image[dim];
  const double step = count > 1 ? 2.0 / static_cast<double>(align_corners ? count - 1 : count) : 0;
  const double first = -0.5 * static_cast<double>(count - 1) * step;
  Shape sizes;
  for (int i = 0; i < image.ndim(); ++i) sizes.push_back(i == dim ? count : 1);
  const Tensor places = arange(count, like.dtype(), like.device()) * step + first;
  return expand(reshape(places, sizes), image);
}

}  // namespace

Tensor affine_grid(const Tensor& theta, IntSpan size, std::optional<bool> align_corners) {
  const autograd::operands::affine_grid call(theta);
  const bool is_size = (size.size() == 4 || size.size() == 5) &&
                       std::all_of(size.begin(), size.end(), [](int64_t n) { return n >= 1; });
  if (!is_size) {
    throw ValueError(
        str("affine_grid: size needs 4 or 5 numbers, each at least 1, got ", PrintShape{size}));
  }
  const int dims = static_cast<int>(size.size()) - 2;
  const Shape wanted = {size[0], dims, dims + 1};
  if (!equal(theta.sizes(), wanted)) {
    throw ShapeError(str("affine_grid: theta needs shape ", wanted, " for size ", PrintShape{size},
                         ", got ", describe(theta)));
  }
  const Tensor map = autograd::widened(theta);
  const Shape image(size.last(static_cast<size_t>(dims)));
  std::vector<Tensor> columns;  // x is the last dim of the image
  for (int dim = dims - 1; dim >= 0; --dim) {
    columns.push_back(places_along(image, dim, align_corners.value_or(false), map));
  }
  columns.push_back(ones(image, map.dtype(), map.device()));
  const Tensor base = reshape(stack(columns, -1), {-1, dims + 1});
  Shape shape = {size[0]};
  for (const int64_t count : image) shape.push_back(count);
  shape.push_back(dims);
  return cast(reshape(matmul(base, transpose(map, 1, 2)), shape), theta.dtype());
}

namespace {

enum class Sampling : uint8_t { linear, nearest, cubic };
enum class Outside : uint8_t { zeros, border, reflection };

Sampling sampling_of(std::string_view mode) {
  if (mode == "bilinear") return Sampling::linear;
  if (mode == "nearest") return Sampling::nearest;
  if (mode == "bicubic") return Sampling::cubic;
  throw ValueError(
      str("grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic', got ", in_quotes(mode)));
}

Outside outside_of(std::string_view mode) {
  if (mode == "zeros") return Outside::zeros;
  if (mode == "border") return Outside::border;
  if (mode == "reflection") return Outside::reflection;
  throw ValueError(str("grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', got ",
                       in_quotes(mode)));
}

/// An element for each place: its number along a dim, 0 if it lies outside, and its weight.
struct Tap {
  Tensor place, weight;
};

/// One dim of the image.
struct Axis {
  int64_t size;
  Outside outside;
  bool align_corners;

  /// Places from -1 to 1, counted in elements.
  Tensor in_elements(const Tensor& places) const {
    const auto count = static_cast<double>(size);
    if (align_corners) return (places + 1) * ((count - 1) / 2);
    return places * (count / 2) + (count - 1) / 2;
  }
  /// Places outside brought back, as the padding mode says.
  Tensor brought_in(const Tensor& places) const {
    if (outside == Outside::zeros) return places;
    const Tensor inside = outside == Outside::reflection ? reflected(places) : places;
    return clamp(inside, Scalar(0), Scalar(size - 1));
  }
  Tap tap(const Tensor& place, const Tensor& weight) const {
    const Tensor is_inside = logical_and(place >= 0, place <= size - 1);  // not of NaN
    return {cast(where(is_inside, detach(place), 0), DType::int64), where(is_inside, weight, 0)};
  }

 private:
  Tensor reflected(const Tensor& places) const {
    const double low = align_corners ? 0.0 : -0.5;
    const auto span = static_cast<double>(align_corners ? size - 1 : size);
    if (span == 0) return places * 0;
    const Tensor away = abs(places - low);
    const Tensor turns = floor(detach(away) / span);
    const Tensor rest = away - turns * span;
    return where((turns % 2) < 1, rest, span - rest) + low;
  }
};

/// The cubic kernel at a distance below 1, or from 1 to 2.
Tensor cubic_near(const Tensor& x) { return ((1.25 * x - 2.25) * x) * x + 1; }
Tensor cubic_far(const Tensor& x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

std::vector<Tap> taps_of(const Axis& axis, Sampling sampling, const Tensor& given) {
  const Tensor places = axis.in_elements(given);
  if (sampling == Sampling::cubic) {
    const Tensor below = floor(detach(places)), t = places - below;
    const Tensor weights[] = {cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)};
    std::vector<Tap> taps;
    for (int i = 0; i < 4; ++i)
      taps.push_back(axis.tap(axis.brought_in(below + (i - 1)), weights[i]));
    return taps;
  }
  const Tensor inside = axis.brought_in(places);
  if (sampling == Sampling::nearest) {
    const Tensor nearest = round(inside);
    return {axis.tap(nearest, nearest - detach(nearest) + 1)};
  }
  const Tensor below = floor(detach(inside)), share = inside - below;
  return {axis.tap(below, 1 - share), axis.tap(below + 1, share)};
}

void check_sample(const Tensor& input, const Tensor& grid) {
  constexpr const char* op = "grid_sample";
  ops::infer::check_ndim(op, "input", input, 4, 5);
  const int dims = input.ndim() - 2;
  if (grid.ndim() != input.ndim() || grid.size(-1) != dims) {
    throw ShapeError(str(op, ": grid needs ", input.ndim(), " dims, the last of size ", dims,
                         ", for input ", describe(input), ", got ", describe(grid)));
  }
  if (grid.size(0) != input.size(0)) {
    throw ShapeError(str(op, ": grid needs as many images as input, got ", describe(grid), " for ",
                         describe(input)));
  }
  ops::infer::check_same_dtype(op, "input", input, "grid", grid);
  for (const int64_t size : input.sizes().last(static_cast<size_t>(dims))) {
    if (size > 0) continue;
    throw ShapeError(str(op, ": input needs at least one element in each dim of the image, got ",
                         describe(input)));
  }
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode,
                   std::string_view padding_mode, std::optional<bool> align_corners) {
  const autograd::operands::grid_sample call(input, grid);
  check_sample(input, grid);
  const Sampling sampling = sampling_of(mode);
  const Outside outside = outside_of(padding_mode);
  const Tensor wide = autograd::widened(grid);
  const int dims = input.ndim() - 2;
  const int64_t images = input.size(0), channels = input.size(1);
  // Combinations of taps, dim by dim: places in the flattened image and weights, [N, 1, places].
  const Shape flat_sizes = {images, 1, -1};
  std::vector<Tap> taps = {{}};
  for (int dim = 0; dim < dims; ++dim) {
    const Axis axis{input.size(dim + 2), outside, align_corners.value_or(false)};
    std::vector<Tap> more;
    const Tensor along = reshape(select(wide, -1, dims - 1 - dim),
                                 grid.numel() > 0 ? flat_sizes : Shape{images, 1, 0});
    for (const Tap& one : taps_of(axis, sampling, along)) {
      for (const Tap& tap : taps) {
        const bool is_first = !tap.place.defined();
        more.push_back(is_first ? one
                                : Tap{tap.place * axis.size + one.place, tap.weight * one.weight});
      }
    }
    taps = std::move(more);
  }
  const Tensor image = reshape(
      input, {images, channels, input.size(2) * input.size(3) * (dims == 3 ? input.size(4) : 1)});
  Shape sizes = {images, channels};
  for (int dim = 1; dim <= dims; ++dim) sizes.push_back(grid.size(dim));
  Tensor out;
  for (const Tap& tap : taps) {
    const Shape wanted = {images, channels, tap.place.size(2)};
    const Tensor part = mul0(tap.weight, gather(image, 2, expand(tap.place, wanted)));
    out = out.defined() ? out + part : part;
  }
  return cast(reshape(out, sizes), input.dtype());
}

}  // namespace ebb
