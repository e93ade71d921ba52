// ebb/autograd/composites/index/arrange.cpp -- ops that rearrange elements and are made of others:
// unflatten, movedim, stacks, grids, chunks, repeat, diag, pad.
//
// Each sets the location of its caller, so that errors name the user's line and not this file.
#include "ebb/autograd/operands/arrange.h"

#include "ebb/autograd/composites/index/tensor_list.h"
#include "ebb/autograd/composites/integers.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/broadcast_tensors.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/chunk.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/diag.h"
#include "ebb/autograd/ops/diag_embed.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/diagonal_backward.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/hstack.h"
#include "ebb/autograd/ops/meshgrid.h"
#include "ebb/autograd/ops/movedim.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/repeat.h"
#include "ebb/autograd/ops/repeat_interleave.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/slice.h"
#include "ebb/autograd/ops/split.h"
#include "ebb/autograd/ops/tensor_split.h"
#include "ebb/autograd/ops/tile.h"
#include "ebb/autograd/ops/unflatten.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/vstack.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

/// What cat makes the result of: views of the tensors, and the dim along which they are joined.
struct Join {
  std::vector<Tensor> parts;
  int64_t dim;
};

Join join_of_hstack(std::span<const Tensor> tensors) {
  check_tensors("hstack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& one : tensors) parts.push_back(one.ndim() == 0 ? reshape(one, Shape{1}) : one);
  const int64_t dim = parts[0].ndim() == 1 ? 0 : 1;
  return {std::move(parts), dim};
}

Join join_of_vstack(std::span<const Tensor> tensors) {
  check_tensors("vstack", tensors);
  std::vector<Tensor> parts;
  for (const Tensor& one : tensors) {
    parts.push_back(one.ndim() < 2 ? reshape(one, Shape{1, one.numel()}) : one);
  }
  return {std::move(parts), 0};
}

}  // namespace

Tensor unflatten(const Tensor& input, int64_t dim, IntSpan sizes) {
  const autograd::CompositeCall call("unflatten", __builtin_return_address(0));
  ops::infer::check_ndim("unflatten", "input", input, 1, kMaxDims);
  const int axis = normalize_dim("unflatten", dim, input);
  const int64_t whole = input.size(axis);
  int64_t known = 1;
  int unknown = 0;
  bool fits = !sizes.empty();
  for (const int64_t size : sizes) {
    unknown += size == -1 ? 1 : 0;
    fits = fits && size >= -1 && (size == -1 || !__builtin_mul_overflow(known, size, &known));
  }
  fits = fits && unknown <= 1 && (unknown == 0 ? known == whole : known > 0 && whole % known == 0);
  if (!fits) {
    throw ShapeError(str("unflatten: sizes must hold the ", whole, " elements of dim ", axis,
                         ", got ", PrintShape{sizes}, " for input ", describe(input)));
  }
  Shape shape;
  for (int each = 0; each < input.ndim(); ++each) {
    if (each != axis) {
      shape.push_back(input.size(each));
      continue;
    }
    for (const int64_t size : sizes) shape.push_back(size == -1 ? whole / known : size);
  }
  return reshape(input, shape);
}

Tensor movedim(const Tensor& input, IntSpan source, IntSpan destination) {
  const autograd::CompositeCall call("movedim", __builtin_return_address(0));
  ops::infer::check_defined("movedim", "input", input);
  if (source.size() != destination.size()) {
    throw ValueError(str("movedim: source and destination need the same number of dims, got ",
                         PrintShape{source}, " and ", PrintShape{destination}));
  }
  const int ndim = input.ndim();
  const auto mask_of = [&](IntSpan dims) {  // refuses duplicates
    return dims.empty() ? 0 : ops::infer::dim_mask("movedim", dims, input);
  };
  const ops::infer::DimMask moved = mask_of(source);
  mask_of(destination);
  Shape order;
  order.resize(ndim);
  std::fill(order.begin(), order.end(), -1);
  for (size_t i = 0; i < source.size() && ndim > 0; ++i) {
    order[normalize_dim("movedim", destination[i], ndim)] =
        normalize_dim("movedim", source[i], ndim);
  }
  int next = 0;
  for (int64_t& from : order) {
    if (from >= 0) continue;
    while ((moved >> next & 1) != 0) ++next;
    from = next++;
  }
  return permute(input, order);
}

std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("broadcast_tensors", __builtin_return_address(0));
  check_tensors("broadcast_tensors", tensors);
  Shape shape = tensors[0].shape();
  for (const Tensor& tensor : tensors) {
    shape = broadcast_shapes("broadcast_tensors", shape, tensor.sizes());
  }
  std::vector<Tensor> outs;
  for (const Tensor& tensor : tensors) outs.push_back(expand(tensor, shape));
  return outs;
}

std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, std::string_view indexing) {
  const autograd::CompositeCall call("meshgrid", __builtin_return_address(0));
  check_tensors("meshgrid", tensors);
  if (indexing != "ij" && indexing != "xy") {
    throw ValueError(str("meshgrid: indexing must be 'ij' or 'xy', got ", in_quotes(indexing)));
  }
  Shape shape;
  for (size_t position = 0; position < tensors.size(); ++position) {
    if (tensors[position].ndim() > 1) {
      throw ShapeError(str("meshgrid: each tensor needs at most 1 dim, got ",
                           describe(tensors[position]), " at position ", position));
    }
    shape.push_back(tensors[position].numel());
  }
  const bool is_swapped = indexing == "xy" && shape.ndim() >= 2;
  if (is_swapped) std::swap(shape[0], shape[1]);
  std::vector<Tensor> outs;
  for (int position = 0; position < shape.ndim(); ++position) {
    Shape line = shape;
    std::fill(line.begin(), line.end(), 1);
    const int dim = is_swapped && position < 2 ? 1 - position : position;
    line[dim] = shape[dim];
    outs.push_back(expand(reshape(tensors[static_cast<size_t>(position)], line), shape));
  }
  return outs;
}

Tensor hstack(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("hstack", __builtin_return_address(0));
  const Join join = join_of_hstack(tensors);
  return cat(join.parts, join.dim);
}

Tensor hstack_out(std::span<const Tensor> tensors, const Tensor& out) {
  const autograd::CompositeCall call("hstack_out", __builtin_return_address(0));
  const Join join = join_of_hstack(tensors);
  return cat_out(join.parts, join.dim, out);
}

Tensor vstack(std::span<const Tensor> tensors) {
  const autograd::CompositeCall call("vstack", __builtin_return_address(0));
  const Join join = join_of_vstack(tensors);
  return cat(join.parts, join.dim);
}

Tensor vstack_out(std::span<const Tensor> tensors, const Tensor& out) {
  const autograd::CompositeCall call("vstack_out", __builtin_return_address(0));
  const Join join = join_of_vstack(tensors);
  return cat_out(join.parts, join.dim, out);
}

std::vector<Tensor> chunk(const Tensor& input, int64_t chunks, int64_t dim) {
  const autograd::CompositeCall call("chunk", __builtin_return_address(0));
  ops::infer::check_ndim("chunk", "input", input, 1, kMaxDims);
  if (chunks < 1) throw ValueError(str("chunk: chunks must be at least 1, got ", chunks));
  const int64_t size = input.size(normalize_dim("chunk", dim, input));
  if (size == 0) return tensor_split(input, chunks, dim);  // as many, all of them empty
  return split(input, std::max<int64_t>(1, size / chunks + (size % chunks != 0 ? 1 : 0)), dim);
}

constexpr int64_t kMostSections = int64_t{1} << 20;

std::vector<Tensor> tensor_split(const Tensor& input, int64_t sections, int64_t dim) {
  const autograd::CompositeCall call("tensor_split", __builtin_return_address(0));
  ops::infer::check_ndim("tensor_split", "input", input, 1, kMaxDims);
  const int64_t size = input.size(normalize_dim("tensor_split", dim, input));
  if (sections < 1) {
    throw ValueError(str("tensor_split: needs at least 1 section, got ", sections));
  }
  // All but `size` parts are empty: a slip in the number must not use up the memory.
  const int64_t most = std::max(size, kMostSections);
  if (sections > most) {
    throw ValueError(str("tensor_split: needs at most ", most, " sections for dim ", dim, " of ",
                         ops::infer::describe(input), ", got ", sections));
  }
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < sections; ++i) {
    sizes.push_back(size / sections + (i < size % sections ? 1 : 0));
  }
  return split(input, IntSpan(sizes), dim);
}

std::vector<Tensor> tensor_split(const Tensor& input, IntSpan indices, int64_t dim) {
  const autograd::CompositeCall call("tensor_split", __builtin_return_address(0));
  ops::infer::check_ndim("tensor_split", "input", input, 1, kMaxDims);
  std::vector<Tensor> parts;
  for (size_t i = 0; i <= indices.size(); ++i) {
    const auto start = i == 0 ? std::nullopt : std::optional(indices[i - 1]);
    const auto end = i == indices.size() ? std::nullopt : std::optional(indices[i]);
    parts.push_back(slice(input, dim, start, end, 1));
  }
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor& input, const Tensor& indices, int64_t dim) {
  const autograd::operands::tensor_split_tensor call(input, indices);
  ops::infer::check_ndim("tensor_split", "indices", indices, 0, 1);
  const std::vector<int64_t> given = autograd::integers_of(indices);
  if (indices.ndim() == 0) return tensor_split(input, given[0], dim);
  return tensor_split(input, IntSpan(given), dim);
}

Tensor diag(const Tensor& input, int64_t diagonal) {
  const autograd::CompositeCall call("diag", __builtin_return_address(0));
  ops::infer::check_ndim("diag", "input", input, 1, 2);
  if (input.ndim() == 1) return diag_embed(input, diagonal);
  return clone(ebb::diagonal(input, diagonal));
}

Tensor diag_embed(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  const autograd::CompositeCall call("diag_embed", __builtin_return_address(0));
  ops::infer::check_ndim("diag_embed", "input", input, 1, kMaxDims - 1);
  const int ndim = input.ndim() + 1;
  const int rows = normalize_dim("diag_embed", dim1, input, 1);
  const int columns = normalize_dim("diag_embed", dim2, input, 1);
  if (rows == columns) {
    throw ValueError(str("diag_embed: dim1 and dim2 must differ, got ", dim1, " and ", dim2,
                         " for ", describe(input)));
  }
  // Beyond this any number of elements is too many; the op that allocates says so.
  constexpr int64_t kMost = int64_t{1} << 61;
  const int64_t shift = std::clamp(offset, -kMost, kMost);
  const int64_t side = input.size(-1) + (shift < 0 ? -shift : shift);
  Shape shape;
  int from = 0;
  for (int dim = 0; dim < ndim; ++dim) {
    shape.push_back(dim == rows || dim == columns ? side : input.size(from++));
  }
  return diagonal_backward(input, shape, shift, rows, columns);
}

namespace {

/// `expanded` in the sizes `joined`, with memory of its own: where few are copied, or copies of one
/// element, the reshape alone would be a view of what was expanded.
Tensor copies_of(const Tensor& expanded, const Shape& joined) {
  const Tensor out = reshape(expanded, joined);
  const bool is_view = out.impl()->storage == expanded.impl()->storage;
  return is_view ? clone(out) : out;
}

/// Copies of `input` beside each other, as many along each dim as `counts` says, of which there
/// are at least as many as dims.
Tensor repeated(const Tensor& input, IntSpan counts) {
  const int lead = static_cast<int>(counts.size()) - input.ndim();
  Shape apart;   // each dim behind one for its copies
  Shape copied;  // the same, expanded
  Shape joined;
  for (int dim = 0; dim < static_cast<int>(counts.size()); ++dim) {
    const int64_t count = counts[static_cast<size_t>(dim)];
    const int64_t size = dim < lead ? 1 : input.size(dim - lead);
    if (count != 1) {
      apart.push_back(1);
      copied.push_back(count);
    }
    apart.push_back(size);
    copied.push_back(size);
    int64_t total = 0;
    if (__builtin_mul_overflow(count, size, &total)) {
      throw ShapeError(str("repeat: sizes must fit into 63 bits, got repeats ", PrintShape{counts},
                           " for input ", describe(input)));
    }
    joined.push_back(total);
  }
  return copies_of(expand(reshape(input, apart), copied), joined);
}

bool are_counts(IntSpan counts) {
  return std::all_of(counts.begin(), counts.end(), [](int64_t count) { return count >= 0; });
}

}  // namespace

Tensor repeat(const Tensor& input, IntSpan repeats) {
  const autograd::CompositeCall call("repeat", __builtin_return_address(0));
  ops::infer::check_defined("repeat", "input", input);
  if (repeats.size() < static_cast<size_t>(input.ndim()) || !are_counts(repeats)) {
    throw ValueError(str("repeat: repeats needs a count of at least 0 for each dim, got ",
                         PrintShape{repeats}, " for input ", describe(input)));
  }
  return repeated(input, repeats);
}

Tensor tile(const Tensor& input, IntSpan dims) {
  const autograd::CompositeCall call("tile", __builtin_return_address(0));
  ops::infer::check_defined("tile", "input", input);
  if (!are_counts(dims)) {
    throw ValueError(str("tile: dims needs counts of at least 0, got ", PrintShape{dims},
                         " for input ", describe(input)));
  }
  Shape counts;
  const int missing = input.ndim() - static_cast<int>(dims.size());
  for (int dim = 0; dim < missing; ++dim) counts.push_back(1);
  for (const int64_t count : dims) counts.push_back(count);
  return repeated(input, counts);
}

Tensor repeat_interleave(const Tensor& input, int64_t repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const autograd::CompositeCall call("repeat_interleave", __builtin_return_address(0));
  ops::infer::check_defined("repeat_interleave", "input", input);
  if (repeats < 0) {
    throw ValueError(str("repeat_interleave: repeats must be at least 0, got ", repeats));
  }
  const Tensor source = dim && input.ndim() > 0 ? input : reshape(input, Shape{input.numel()});
  const int axis = normalize_dim("repeat_interleave", dim.value_or(0), source);
  Shape copied;
  Shape joined = source.shape();
  for (int each = 0; each < source.ndim(); ++each) {
    copied.push_back(source.size(each));
    if (each == axis) copied.push_back(repeats);
  }
  if (__builtin_mul_overflow(joined[axis], repeats, &joined[axis])) {
    throw ShapeError(str("repeat_interleave: sizes must fit into 63 bits, got repeats ", repeats,
                         " for input ", describe(input)));
  }
  if (output_size.value_or(joined[axis]) != joined[axis]) {
    throw ValueError(str("repeat_interleave: output_size must be the sum of repeats, ",
                         joined[axis], ", got ", *output_size));
  }
  return copies_of(expand(unsqueeze(source, axis + 1), copied), joined);
}

}  // namespace ebb
