// ebb/autograd/composites/index/shape.cpp -- ops on shapes that are made of others: slice, select,
// narrow, unsqueeze, squeeze, flatten, t, split by one size; and detach, which records nothing.
//
// Each sets the location of its caller, so that errors name the user's line and not this file.
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/flatten.h"
#include "ebb/autograd/ops/index_box.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/t.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

/// A box of all of `input` but for one dim.
struct Box {
  Shape start;
  Shape step;
  Shape size;

  explicit Box(const Tensor& input)
      : start(input.sizes()), step(input.sizes()), size(input.sizes()) {
    std::fill(start.begin(), start.end(), 0);
    std::fill(step.begin(), step.end(), 1);
  }
};

int checked_axis(const char* op, const Tensor& input, int64_t dim) {
  ops::infer::check_ndim(op, "input", input, 1, kMaxDims);
  return normalize_dim(op, dim, input);
}

/// A place in a slice, counted from the back if negative, moved into [0, size].
int64_t clamped(int64_t place, int64_t size) {
  if (place < 0) place += size;
  return std::clamp<int64_t>(place, 0, size);
}

}  // namespace

Tensor slice(const Tensor& input, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  const autograd::CompositeCall call("slice", __builtin_return_address(0));
  const int axis = checked_axis("slice", input, dim);
  if (step < 1) throw ValueError(str("slice: step must be at least 1, got ", step));
  Box box(input);
  const int64_t first = clamped(start.value_or(0), box.size[axis]);
  const int64_t last = clamped(end.value_or(box.size[axis]), box.size[axis]);
  box.start[axis] = first;
  box.step[axis] = step;
  box.size[axis] = last > first ? (last - first - 1) / step + 1 : 0;
  return index_box(input, box.start, box.step, box.size, box.size);
}

Tensor select(const Tensor& input, int64_t dim, int64_t index) {
  const autograd::CompositeCall call("select", __builtin_return_address(0));
  const int axis = checked_axis("select", input, dim);
  Box box(input);
  const int64_t size = box.size[axis];
  if (index < -size || index >= size) {
    if (size == 0)
      throw IndexError(str("select: dim ", dim, " has no elements, got index ", index));
    throw IndexError(str("select: index must be from ", -size, " to ", size - 1, ", got ", index));
  }
  box.start[axis] = index < 0 ? index + size : index;
  box.size[axis] = 1;
  Shape shape = box.size;
  shape.erase(axis);
  return index_box(input, box.start, box.step, box.size, shape);
}

Tensor narrow(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  const autograd::CompositeCall call("narrow", __builtin_return_address(0));
  const int axis = checked_axis("narrow", input, dim);
  Box box(input);
  const int64_t size = box.size[axis];
  const int64_t first = start < 0 ? start + size : start;
  if (first < 0 || first > size || length < 0 || length > size - first) {
    throw IndexError(str("narrow: start and length must lie within the ", size, " elements of dim ",
                         dim, ", got start ", start, " and length ", length));
  }
  box.start[axis] = first;
  box.size[axis] = length;
  return index_box(input, box.start, box.step, box.size, box.size);
}

Tensor unsqueeze(const Tensor& input, int64_t dim) {
  const autograd::CompositeCall call("unsqueeze", __builtin_return_address(0));
  ops::infer::check_defined("unsqueeze", "input", input);
  const int axis = normalize_dim("unsqueeze", dim, input, 1);
  Shape shape;
  for (int each = 0; each < input.ndim(); ++each) {
    if (each == axis) shape.push_back(1);
    shape.push_back(input.sizes()[static_cast<size_t>(each)]);
  }
  if (axis == input.ndim()) shape.push_back(1);
  return reshape(input, shape);
}

Tensor squeeze(const Tensor& input) {
  const autograd::CompositeCall call("squeeze", __builtin_return_address(0));
  ops::infer::check_defined("squeeze", "input", input);
  Shape shape;
  for (const int64_t size : input.sizes()) {
    if (size != 1) shape.push_back(size);
  }
  return reshape(input, shape);
}

Tensor squeeze(const Tensor& input, int64_t dim) {
  const autograd::CompositeCall call("squeeze", __builtin_return_address(0));
  ops::infer::check_defined("squeeze", "input", input);
  const int axis = normalize_dim("squeeze", dim, input);
  Shape shape = input.shape();
  if (!shape.empty() && shape[axis] == 1) shape.erase(axis);
  return reshape(input, shape);
}

Tensor squeeze(const Tensor& input, IntSpan dims) {
  const autograd::CompositeCall call("squeeze", __builtin_return_address(0));
  ops::infer::check_defined("squeeze", "input", input);
  const ops::infer::DimMask mask = dims.empty() ? 0 : ops::infer::dim_mask("squeeze", dims, input);
  Shape shape;
  for (int dim = 0; dim < input.ndim(); ++dim) {
    const int64_t size = input.sizes()[static_cast<size_t>(dim)];
    if (size != 1 || (mask >> dim & 1) == 0) shape.push_back(size);
  }
  return reshape(input, shape);
}

Tensor flatten(const Tensor& input, int64_t start_dim, int64_t end_dim) {
  const autograd::CompositeCall call("flatten", __builtin_return_address(0));
  ops::infer::check_defined("flatten", "input", input);
  const int first = normalize_dim("flatten", start_dim, input);
  const int last = normalize_dim("flatten", end_dim, input);
  if (first > last) {
    throw ValueError(str("flatten: start_dim must not come after end_dim, got ", start_dim, " and ",
                         end_dim, " for ", ops::infer::describe(input)));
  }
  if (input.ndim() == 0) return reshape(input, Shape{1});
  if (first == last) return input;
  Shape shape;
  int64_t joined = 1;
  for (int dim = 0; dim < input.ndim(); ++dim) {
    const int64_t size = input.sizes()[static_cast<size_t>(dim)];
    const bool is_joined = dim >= first && dim <= last;
    if (is_joined) joined *= size;
    if (!is_joined) shape.push_back(size);
    if (dim == last) shape.push_back(joined);
  }
  return reshape(input, shape);
}

Tensor t(const Tensor& input) {
  const autograd::CompositeCall call("t", __builtin_return_address(0));
  ops::infer::check_ndim("t", "input", input, 0, 2);
  return input.ndim() < 2 ? reshape(input, input.shape()) : transpose(input, 0, 1);
}

std::vector<Tensor> split(const Tensor& input, int64_t split_size, int64_t dim) {
  const autograd::CompositeCall call("split", __builtin_return_address(0));
  const int axis = checked_axis("split", input, dim);
  if (split_size < 1) {
    throw ValueError(str("split: split_size must be at least 1, got ", split_size));
  }
  const int64_t total = input.sizes()[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes;
  for (int64_t done = 0; done < total; done += sizes.back()) {
    sizes.push_back(std::min(split_size, total - done));
  }
  if (sizes.empty()) sizes.push_back(0);
  return split(input, IntSpan(sizes), axis);
}

Tensor detach(const Tensor& input) {
  ops::infer::check_defined("detach", "input", input);
  Tensor out = detached(input);
  if (input.requires_grad() || autograd::origin_of(input) != 0) {
    autograd::note_detached("detach", out, input, current_location(__builtin_return_address(0)));
  }
  return out;
}

}  // namespace ebb
