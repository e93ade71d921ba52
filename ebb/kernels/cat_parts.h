// ebb/kernels/cat_parts.h -- where the tensors that cat joins go in its result.
#pragma once

#include <span>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/shape.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// Calls use(input, part) for each input with elements; `part` is what it fills of `out`.
template <typename Use>
void for_each_part(std::span<const TensorView> inputs, int dim, const TensorView& out, Use use) {
  int64_t start = 0;
  for (const TensorView& input : inputs) {
    if (input.numel == 0) continue;
    TensorView part = out;
    part.data =
        out.as<char>() + start * out.strides[dim] * static_cast<int64_t>(item_size(out.dtype));
    part.sizes = input.sizes;
    part.numel = input.numel;
    part.contiguous = is_contiguous(part.shape(), {part.strides, part.ndim});
    use(input, part);
    start += input.sizes[dim];
  }
}

}  // namespace ebb::kernels
