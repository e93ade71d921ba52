// ebb/autograd/composites/index/tensor_list.h -- a list of tensors that an op joins.
#pragma once

#include <span>

#include "ebb/core/base/error.h"
#include "ebb/core/base/str.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/ops/infer.h"

namespace ebb {

/// Throws ValueError where there is none, or one that is not defined.
inline void check_tensors(const char* op, std::span<const Tensor> tensors) {
  if (tensors.empty()) throw ValueError(str(op, ": 'tensors' must not be empty, got no tensor"));
  for (const Tensor& tensor : tensors) ops::infer::check_defined(op, "tensors", tensor);
}

}  // namespace ebb
