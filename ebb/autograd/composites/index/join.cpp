// ebb/autograd/composites/index/join.cpp -- ops that make one tensor of several, or of all choices
// among elements, and their inverses, which split one.
#include "ebb/autograd/composites/index/tensor_list.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/atleast_2d.h"
#include "ebb/autograd/ops/atleast_3d.h"
#include "ebb/autograd/ops/block_diag.h"
#include "ebb/autograd/ops/cartesian_prod.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/column_stack.h"
#include "ebb/autograd/ops/combinations.h"
#include "ebb/autograd/ops/constant_pad_nd.h"
#include "ebb/autograd/ops/dstack.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/meshgrid.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/tensor_split.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/rules/arrange.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

/// Throws ShapeError for a tensor at `position` that has more dims than `most`, or fewer than
/// `least`.
void check_dims(const char* op, const Tensor& tensor, size_t position, int least, int most) {
  if (tensor.ndim() >= least && tensor.ndim() <= most) return;
  throw ShapeError(str(op, ": each tensor needs ", least == most ? "exactly " : "at most ", most,
                       most == 1 ? " dim" : " dims", ", got ", describe(tensor), " at position ",
                       position));
}

Tensor with_two_dims(const Tensor& input) {
  return input.ndim() < 2 ? reshape(input, Shape{1, input.numel()}) : input;
}

Tensor with_three_dims(const Tensor& input) {
  if (input.ndim() >= 3) return input;
  if (input.ndim() == 2) return reshape(input, Shape{input.size(0), input.size(1), 1});
  return reshape(input, Shape{1, input.numel(), 1});
}

std::vector<Tensor> parts_of_dstack(std::span<const Tensor> tensors) {
  check_tensors("dstack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& one : tensors) parts.push_back(with_three_dims(one));
  return parts;
}

std::vector<Tensor> parts_of_column_stack(std::span<const Tensor> tensors) {
  check_tensors("column_stack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& one : tensors) {
    parts.push_back(one.ndim() < 2 ? reshape(one, Shape{one.numel(), 1}) : one);
  }
  return parts;
}

// --- choices ---

/// How many choices of `r` among `count` there are. Throws ShapeError if they are too many.
int64_t choices(int64_t count, int64_t r) {
  int64_t found = r > count ? 0 : 1;
  for (int64_t i = 1; i <= std::min(r, count - r); ++i) {
    int64_t product = 0;
    if (__builtin_mul_overflow(found, count - i + 1, &product)) {
      throw ShapeError(str("combinations: rows must fit into 63 bits, got r ", r, " of ", count));
    }
    found = product / i;
  }
  return found;
}

/// Writes the places of all choices, a row each. Every row starts as the one before, counted up in
/// its last place that can be.
void write_choices(int64_t* out, int64_t rows, int64_t r, int64_t count, bool repeats) {
  for (int64_t i = 0; i < r && rows > 0; ++i) out[i] = repeats ? 0 : i;
  for (int64_t row = 1; row < rows; ++row) {
    int64_t* const now = out + row * r;
    std::copy_n(now - r, r, now);
    int64_t last = r - 1;
    const auto most = [&](int64_t i) { return repeats ? count - 1 : count - r + i; };
    while (now[last] == most(last)) --last;
    ++now[last];
    for (int64_t i = last + 1; i < r; ++i) now[i] = repeats ? now[last] : now[i - 1] + 1;
  }
}

}  // namespace

Tensor atleast_2d(const Tensor& input) {
  const autograd::CompositeCall call("atleast_2d", __builtin_return_address(0));
  ops::infer::check_defined("atleast_2d", "input", input);
  return with_two_dims(input);
}

Tensor atleast_3d(const Tensor& input) {
  const autograd::CompositeCall call("atleast_3d", __builtin_return_address(0));
  ops::infer::check_defined("atleast_3d", "input", input);
  return with_three_dims(input);
}

Tensor dstack(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("dstack", __builtin_return_address(0));
  return cat(parts_of_dstack(tensors), 2);
}

Tensor dstack_out(std::span<const Tensor> tensors, const Tensor& out) {
  const autograd::CompositeCall call("dstack_out", __builtin_return_address(0));
  return cat_out(parts_of_dstack(tensors), 2, out);
}

Tensor column_stack(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("column_stack", __builtin_return_address(0));
  return cat(parts_of_column_stack(tensors), 1);
}

Tensor column_stack_out(std::span<const Tensor> tensors, const Tensor& out) {
  const autograd::CompositeCall call("column_stack_out", __builtin_return_address(0));
  return cat_out(parts_of_column_stack(tensors), 1, out);
}

Tensor block_diag(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("block_diag", __builtin_return_address(0));
  check_tensors("block_diag", tensors);
  int64_t width = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check_dims("block_diag", tensors[i], i, 0, 2);
    width += with_two_dims(tensors[i]).size(1);
  }
  std::vector<Tensor> bands;
  int64_t before = 0;
  for (const Tensor& one : tensors) {
    const Tensor block = with_two_dims(one);
    const int64_t after = width - before - block.size(1);
    bands.push_back(constant_pad_nd(block, Shape{before, after}, 0));
    before += block.size(1);
  }
  return cat(bands, 0);
}

Tensor cartesian_prod(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("cartesian_prod", __builtin_return_address(0));
  check_tensors("cartesian_prod", tensors);
  for (size_t i = 0; i < tensors.size(); ++i) check_dims("cartesian_prod", tensors[i], i, 1, 1);
  if (tensors.size() == 1) return tensors[0];
  const std::vector<Tensor> grids = meshgrid(tensors, "ij");  // views
  const auto width = static_cast<int64_t>(grids.size());
  return reshape(stack(grids, width), Shape{grids[0].numel(), width});
}

Tensor combinations(const Tensor& input, int64_t r, bool with_replacement) {
  const autograd::CompositeCall call("combinations", __builtin_return_address(0));
  ops::infer::check_ndim("combinations", "input", input, 1, 1);
  if (r < 0) throw ValueError(str("combinations: r must be at least 0, got ", r));
  if (r == 0) return narrow(input, 0, 0, 0);
  const int64_t count = input.numel();
  int64_t pool = count;
  if (with_replacement && count > 0 && __builtin_add_overflow(count - 1, r, &pool)) pool = -1;
  const int64_t rows = choices(pool, r);
  const Tensor index = empty({rows, r}, DType::int64, is_meta(input) ? input.device() : Device{});
  if (!is_meta(index)) write_choices(index.data<int64_t>(), rows, r, count, with_replacement);
  const Tensor places = to_device(reshape(index, Shape{-1}), input.device());
  return reshape(index_select(input, 0, places), Shape{rows, r});
}

namespace autograd::rules {
namespace {

int split_dim(const char* op, const Tensor& input, int least_ndim, int dim) {
  ops::infer::check_ndim(op, "input", input, least_ndim, kMaxDims);
  return std::min(dim, input.ndim() - 1);
}

}  // namespace

std::vector<Tensor> parts_along(const char* op, const Tensor& input, int64_t sections,
                                int least_ndim, int dim) {
  dim = split_dim(op, input, least_ndim, dim);
  if (sections < 1 || input.size(dim) % sections != 0) {
    throw ValueError(str(op, ": needs a number of sections that divides the size ", input.size(dim),
                         " of dim ", dim, ", got ", sections));
  }
  return tensor_split(input, sections, dim);
}

std::vector<Tensor> parts_along(const char* op, const Tensor& input, IntSpan indices,
                                int least_ndim, int dim) {
  return tensor_split(input, indices, split_dim(op, input, least_ndim, dim));
}

}  // namespace autograd::rules
}  // namespace ebb
