// ebb/autograd/rules/network/pool_kinds.h -- norms of windows and maxima put back, by the name of
// their op (composites/network/pool_kinds.cpp).
#pragma once

#include <optional>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

struct UnpoolOptions {
  IntSpan kernel_size;
  std::optional<IntSpan> stride;
  IntSpan padding;
  std::optional<IntSpan> output_size;
};

// Over the last `dims` dims. Both throw ShapeError or ValueError, naming `op`, for others.
Tensor lp_pool(const char* op, int dims, const Tensor& input, double norm_type, IntSpan kernel_size,
               std::optional<IntSpan> stride, bool ceil_mode);
Tensor max_unpool(const char* op, int dims, const Tensor& input, const Tensor& indices,
                  const UnpoolOptions& options);

}  // namespace ebb::autograd::rules
