// ebb/autograd/composites/index/index.cpp -- indexing that is made of other ops: by tensors in
// several dims, by masks, one_hot.
//
// index() and index_put_() turn their tensors into one flat index over the dims that are indexed
// (Selection), which index_dims and index_dims_put_ take.
#include "ebb/autograd/ops/index.h"

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/flat_index.h"
#include "ebb/autograd/ops/flatnonzero.h"
#include "ebb/autograd/ops/index_dims.h"
#include "ebb/autograd/ops/index_dims_put_.h"
#include "ebb/autograd/ops/index_put_.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/masked_select.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/one_hot.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/broadcast.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::describe;

/// What a list of index tensors selects of `input`.
class Selection {
 public:
  Selection(const Tensor& input, std::span<const Tensor> indices) : input_(input) {
    const NoGradGuard guard;
    int dim = 0;
    for (const Tensor& index : indices) {
      // Bytes are masks too, as in PyTorch.
      const bool is_bytes = index.defined() && index.dtype() == DType::uint8;
      dim = take(is_bytes ? cast(index, DType::boolean) : index, dim);
    }
    if (parts_.empty()) return;
    Shape shape = parts_[0].shape();
    for (const Tensor& part : parts_) shape = broadcast_shapes("index", shape, part.sizes());
    // One mask is a flat index already.
    flat_ = parts_.size() == 1 && is_mask_ ? parts_[0] : flat_index(parts_, sizes_, shape);
  }

  bool is_all() const { return parts_.empty(); }
  IntSpan dims() const { return dims_; }
  const Tensor& flat() const { return flat_; }

 private:
  /// Takes the index of dim `dim`; returns the next dim.
  int take(const Tensor& index, int dim) {
    const bool is_mask = index.defined() && index.dtype() == DType::boolean;
    const int used = is_mask ? index.ndim() : 1;
    if (used == 0) {
      throw NotImplementedError("index: needs a mask of at least 1 dim, got a 0-d one");
    }
    if (dim + used > input_.ndim()) {
      throw IndexError(str("index: needs at most ", input_.ndim(), " indexed dims, got more for ",
                           describe(input_)));
    }
    if (!index.defined()) return dim + 1;
    int64_t size = 1;
    for (int own = 0; own < used; ++own) {
      const int64_t extent = input_.size(dim + own);
      if (is_mask && index.size(own) != extent) {
        throw IndexError(str("index: a mask needs the sizes of the dims that it indexes, got mask ",
                             PrintShape{index.sizes()}, " at dim ", dim, " of ", describe(input_)));
      }
      dims_.push_back(dim + own);
      size *= extent;
    }
    sizes_.push_back(size);
    is_mask_ = is_mask;
    parts_.push_back(is_mask ? flatnonzero(index) : index);
    return dim + used;
  }

  const Tensor& input_;
  Shape dims_;
  std::vector<int64_t> sizes_;
  std::vector<Tensor> parts_;
  Tensor flat_;
  bool is_mask_ = false;
};

}  // namespace

Tensor index(const Tensor& input, std::span<const Tensor> indices) {
  const autograd::CompositeCall call("index", __builtin_return_address(0));
  ops::infer::check_defined("index", "input", input);
  const Selection selected(input, indices);
  return selected.is_all() ? clone(input) : index_dims(input, selected.dims(), selected.flat());
}

const Tensor& index_put_(const Tensor& self, std::span<const Tensor> indices, const Tensor& values,
                         bool accumulate) {
  const autograd::CompositeCall call("index_put_", __builtin_return_address(0));
  ops::infer::check_defined("index_put_", "self", self);
  ops::infer::check_defined("index_put_", "values", values);
  const Selection selected(self, indices);
  if (selected.is_all()) {
    return accumulate ? add_(self, values) : copy_(self, values);
  }
  return index_dims_put_(self, values, selected.dims(), selected.flat(), accumulate);
}

Tensor masked_select(const Tensor& input, const Tensor& mask) {
  const autograd::CompositeCall call("masked_select", __builtin_return_address(0));
  ops::infer::check_defined("masked_select", "input", input);
  ops::infer::check_defined("masked_select", "mask", mask);
  if (mask.dtype() != DType::boolean) {
    throw DTypeError(str("masked_select: mask needs dtype bool, got ", describe(mask)));
  }
  const Shape shape = ops::broadcast_operands("masked_select", {"input", input}, {"mask", mask});
  return index_select(reshape(expand(input, shape), Shape{-1}), 0,
                      flatnonzero(expand(mask, shape)));
}

namespace {

int64_t classes_up_to(const Tensor& largest) {
  int64_t classes = 0;
  if (__builtin_add_overflow(largest.item<int64_t>(), 1, &classes)) {
    throw IndexError(str("one_hot: input must be below ", largest.item<int64_t>(),
                         " without num_classes, got ", largest.item<int64_t>()));
  }
  return classes;
}

}  // namespace

Tensor one_hot(const Tensor& input, int64_t num_classes) {
  const autograd::CompositeCall call("one_hot", __builtin_return_address(0));
  ops::infer::check_defined("one_hot", "input", input);
  ops::infer::check_index_dtype("one_hot", "input", input);
  if (num_classes < 0 && (num_classes != -1 || input.numel() == 0)) {
    throw ValueError(num_classes == -1
                         ? str("one_hot: needs num_classes for no elements, got -1")
                         : str("one_hot: num_classes must be at least -1, got ", num_classes));
  }
  const int64_t classes = num_classes == -1 ? classes_up_to(max(input)) : num_classes;
  const Tensor index = input.dtype() == DType::int64 ? input : cast(input, DType::int64);
  ops::check_index_range("one_hot", "input", index, classes);
  Shape shape = input.shape();
  shape.push_back(classes);
  const Tensor out = zeros(shape, DType::int64, input.device());
  return scatter_(out, -1, unsqueeze(index, -1), 1);
}

}  // namespace ebb
