// ebb/ops/impl/reduce/running.cpp -- running extrema: memory, then the kernel.
//
// A 0-d tensor counts as one of shape [1] here, as in PyTorch.
#include "ebb/ops/impl/reduce/running.h"

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/running_extremum.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

std::tuple<Tensor, Tensor> running_extremum(const char* op, const Tensor& input, int64_t dim,
                                            bool largest) {
  const int axis = normalize_dim(op, dim, input);
  const auto kernel = kernel_for(op, kernels::running_extremum_kernels, input);
  const Tensor values = empty_like(input, input.dtype());
  const Tensor indices = empty_like(input, DType::int64);
  kernel(context_of(input), at_least_1d(input).over(input), axis, largest,
         at_least_1d(values).over(values), at_least_1d(indices).over(indices));
  return {values, indices};
}

}  // namespace

std::tuple<Tensor, Tensor> cummax(const Tensor& input, int64_t dim) {
  return running_extremum("cummax", input, dim, true);
}

std::tuple<Tensor, Tensor> cummin(const Tensor& input, int64_t dim) {
  return running_extremum("cummin", input, dim, false);
}

}  // namespace ebb::ops::impl
