// ebb/autograd/composites/index/shuffle.cpp -- ops that deal elements of an image out again, turn
// it, or put a part in its place.
#include "ebb/autograd/ops/channel_shuffle.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/diagonal_scatter.h"
#include "ebb/autograd/ops/flip.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/pixel_shuffle.h"
#include "ebb/autograd/ops/pixel_unshuffle.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/rot90.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/select_scatter.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/slice_scatter.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

void check_factor(const char* op, int64_t factor) {
  if (factor >= 1 && factor <= 65535) return;
  throw ValueError(str(op, ": the factor must be from 1 to 65535, got ", factor));
}

/// Throws ShapeError unless `src` has the shape of the view that it is to replace.
void check_fits(const char* op, const Tensor& src, const Tensor& view) {
  ops::infer::check_defined(op, "src", src);
  if (src.shape() == view.shape()) return;
  throw ShapeError(
      str(op, ": src needs shape ", PrintShape{view.sizes()}, ", got ", describe(src)));
}

/// The sizes before the last three dims, then `last`.
Shape with_last(const Tensor& images, std::initializer_list<int64_t> last) {
  Shape shape;
  for (int dim = 0; dim < images.ndim() - 3; ++dim) shape.push_back(images.size(dim));
  for (const int64_t size : last) shape.push_back(size);
  return shape;
}

/// The dims before the last five as they are, then those of `last`, counted from the fifth last.
Shape order_of(int ndim, std::initializer_list<int> last) {
  Shape order;
  for (int dim = 0; dim < ndim - 5; ++dim) order.push_back(dim);
  for (const int dim : last) order.push_back(ndim - 5 + dim);
  return order;
}

}  // namespace

Tensor rot90(const Tensor& input, int64_t k, IntSpan dims) {
  const autograd::CompositeCall call("rot90", __builtin_return_address(0));
  ops::infer::check_defined("rot90", "input", input);
  if (dims.size() != 2) {
    throw ValueError(str("rot90: dims needs two dims, got ", PrintShape{dims}));
  }
  ops::infer::dim_mask("rot90", dims, input);  // refuses duplicates
  switch ((k % 4 + 4) % 4) {
    case 1: return flip(transpose(input, dims[0], dims[1]), dims.first(1));
    case 2: return flip(input, dims);
    case 3: return flip(transpose(input, dims[0], dims[1]), dims.last(1));
    default: return clone(input);
  }
}

Tensor select_scatter(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
  const autograd::CompositeCall call("select_scatter", __builtin_return_address(0));
  ops::infer::check_defined("select_scatter", "input", input);
  const Tensor out = clone(input);
  Tensor part = select(out, dim, index);
  check_fits("select_scatter", src, part);
  copy_(part, src);
  return out;
}

Tensor slice_scatter(const Tensor& input, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const autograd::CompositeCall call("slice_scatter", __builtin_return_address(0));
  ops::infer::check_defined("slice_scatter", "input", input);
  const Tensor out = clone(input);
  Tensor part = slice(out, dim, start, end, step);
  check_fits("slice_scatter", src, part);
  copy_(part, src);
  return out;
}

Tensor diagonal_scatter(const Tensor& input, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  const autograd::CompositeCall call("diagonal_scatter", __builtin_return_address(0));
  ops::infer::check_defined("diagonal_scatter", "input", input);
  const Tensor out = clone(input);
  Tensor part = diagonal(out, offset, dim1, dim2);
  check_fits("diagonal_scatter", src, part);
  copy_(part, src);
  return out;
}

Tensor pixel_shuffle(const Tensor& input, int64_t upscale_factor) {
  const autograd::CompositeCall call("pixel_shuffle", __builtin_return_address(0));
  ops::infer::check_ndim("pixel_shuffle", "input", input, 3, kMaxDims - 2);
  check_factor("pixel_shuffle", upscale_factor);
  if (upscale_factor == 1) return clone(input);
  const int64_t area = upscale_factor * upscale_factor;
  const int64_t channels = input.size(-3), height = input.size(-2), width = input.size(-1);
  if (channels % area != 0) {
    throw ShapeError(
        str("pixel_shuffle: needs channels that ", area, " divides, got ", describe(input)));
  }
  const int64_t r = upscale_factor;
  const Tensor parts = reshape(input, with_last(input, {channels / area, r, r, height, width}));
  const Tensor turned = permute(parts, order_of(parts.ndim(), {0, 3, 1, 4, 2}));
  return reshape(turned, with_last(input, {channels / area, height * r, width * r}));
}

Tensor pixel_unshuffle(const Tensor& input, int64_t downscale_factor) {
  const autograd::CompositeCall call("pixel_unshuffle", __builtin_return_address(0));
  ops::infer::check_ndim("pixel_unshuffle", "input", input, 3, kMaxDims - 2);
  check_factor("pixel_unshuffle", downscale_factor);
  if (downscale_factor == 1) return clone(input);
  const int64_t r = downscale_factor;
  const int64_t channels = input.size(-3), height = input.size(-2), width = input.size(-1);
  if (height % r != 0 || width % r != 0) {
    throw ShapeError(str("pixel_unshuffle: needs a height and width that ", r, " divides, got ",
                         describe(input)));
  }
  const Tensor parts = reshape(input, with_last(input, {channels, height / r, r, width / r, r}));
  const Tensor turned = permute(parts, order_of(parts.ndim(), {0, 2, 4, 1, 3}));
  return reshape(turned, with_last(input, {channels * r * r, height / r, width / r}));
}

Tensor channel_shuffle(const Tensor& input, int64_t groups) {
  const autograd::CompositeCall call("channel_shuffle", __builtin_return_address(0));
  ops::infer::check_ndim("channel_shuffle", "input", input, 2, kMaxDims - 1);
  if (groups < 1 || input.size(1) % groups != 0) {
    throw ShapeError(
        str("channel_shuffle: needs channels that ", groups, " divides, got ", describe(input)));
  }
  Shape shape = {input.size(0), groups, input.size(1) / groups};
  for (int dim = 2; dim < input.ndim(); ++dim) shape.push_back(input.size(dim));
  return reshape(transpose(reshape(input, shape), 1, 2), input.sizes());
}

}  // namespace ebb
