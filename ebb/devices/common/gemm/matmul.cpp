// ebb/devices/common/gemm/matmul.cpp -- matmul and linear: the views say where the factors lie.
#include "ebb/devices/common/gemm/matmul.h"

#include <optional>

#include "ebb/devices/common/base/copy.h"
#include "ebb/devices/common/gemm/gemm.h"
#include "ebb/devices/launch/driver.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

/// The stride of a dim: of a size of 1 it means nothing.
int64_t stride_of(const TensorView& view, int dim) {
  return view.sizes[dim] == 1 ? 0 : view.strides[dim];
}

Factor factor_of(const TensorView& view) {
  const int rows = view.ndim - 2;
  return {view.data, view.dtype, stride_of(view, rows), stride_of(view, rows + 1)};
}

}  // namespace

void run_matmul(const Context& context, const TensorView& input, const TensorView& other,
                const TensorView& out) {
  const int batch = out.ndim - 2;
  Gemm gemm{.op = "matmul",
            .m = out.sizes[batch],
            .n = out.sizes[batch + 1],
            .k = input.sizes[batch + 1],
            .a = factor_of(input),
            .b = factor_of(other),
            .out = out.data,
            .out_dtype = out.dtype,
            .out_row = out.sizes[batch + 1]};
  for (int dim = 0; dim < batch; ++dim) {
    gemm.batch.push_back(out.sizes[dim]);
    gemm.strides[0].push_back(stride_of(out, dim));
    gemm.strides[1].push_back(stride_of(input, dim));
    gemm.strides[2].push_back(stride_of(other, dim));
  }
  run_gemm(gemm, context);
}

void run_linear(const Context& context, const TensorView& input, const TensorView& weight,
                const TensorView* bias, const TensorView& out) {
  Gemm gemm{.op = "linear",
            .m = out.sizes[0],
            .n = out.sizes[1],
            .k = input.sizes[1],
            .a = factor_of(input),
            .b = factor_of(weight),
            .out = out.data,
            .out_dtype = out.dtype,
            .out_row = out.sizes[1]};
  std::swap(gemm.b.row, gemm.b.column);  // weight^T
  std::optional<Scratch> dense;
  if (bias != nullptr) {
    gemm.bias_side = BiasSide::of_columns;
    gemm.bias = bias->data;
    if (bias->sizes[0] > 1 && bias->strides[0] != 1) {
      const int64_t one = 1;
      dense.emplace(context, static_cast<size_t>(bias->numel) * item_size(bias->dtype));
      const TensorView copy{dense->data(), bias->sizes, &one, bias->numel, 1, bias->dtype};
      run_cast(context, *bias, copy);
      gemm.bias = dense->data();
    }
  }
  run_gemm(gemm, context);
}

}  // namespace ebb::devices
