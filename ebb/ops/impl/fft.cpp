// ebb/ops/impl/fft.cpp -- see fft.h.
#include "ebb/ops/impl/fft.h"

#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/fft_c2c.h"
#include "ebb/kernels/tables/fft_c2r.h"
#include "ebb/kernels/tables/fft_r2c.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// Counted from the front.
Shape dims_of(const char* op, const Tensor& input, IntSpan dim) {
  if (!dim.empty()) infer::check_ndim(op, "input", input, 1, kMaxDims);
  infer::dim_mask(op, dim, input);
  Shape dims(dim);
  for (int64_t& one : dims) one += one < 0 ? input.ndim() : 0;
  return dims;
}

void check_sizes(const char* op, const Tensor& input, IntSpan dims) {
  for (const int64_t dim : dims) {
    if (input.size(dim) > 0) continue;
    throw ValueError(str(op, ": needs at least 1 element along each dim, got ",
                         infer::describe(input), " and dim ", dim));
  }
}

/// The dim whose numbers are real on one side.
int halved_dim(const char* op, const Shape& dims) {
  if (dims.empty()) throw ValueError(str(op, ": needs at least one dim, got none"));
  return static_cast<int>(dims[dims.ndim() - 1]);
}

/// Along all dims, from the last on: the first time from `input`, then in place.
void transform_dims(const char* op, const Tensor& input, IntSpan dims, double scale, bool forward,
                    const Tensor& out) {
  const auto kernel = kernel_for(op, kernels::fft_c2c_kernels, out);
  Tensor from = input;
  for (size_t i = dims.size(); i-- > 0;) {
    kernel(context_of(out), view_of(from), static_cast<int>(dims[i]), forward, scale, view_of(out));
    from = out;
    scale = 1;
  }
}

}  // namespace

Tensor fft_c2c(const Tensor& input, IntSpan dim, double scale, bool forward) {
  const Shape dims = dims_of("fft_c2c", input, dim);
  check_sizes("fft_c2c", input, dims);
  if (dims.empty()) return clone(input);
  const Tensor out = empty(input.sizes(), input.dtype(), input.device());
  transform_dims("fft_c2c", input, dims, scale, forward, out);
  return out;
}

Tensor fft_r2c(const Tensor& input, IntSpan dim, double scale, bool forward, bool onesided) {
  const Shape dims = dims_of("fft_r2c", input, dim);
  check_sizes("fft_r2c", input, dims);
  const int last = halved_dim("fft_r2c", dims);
  Shape shape(input.sizes());
  if (onesided) shape[last] = input.size(last) / 2 + 1;
  const Tensor out = empty(shape, complex_type_of(input.dtype()), input.device());
  const auto kernel = kernel_for("fft_r2c", kernels::fft_r2c_kernels, input);
  kernel(context_of(input), view_of(input), last, forward, scale, view_of(out));
  const IntSpan others = IntSpan(dims).first(dims.size() - 1);
  transform_dims("fft_r2c", out, others, 1, forward, out);
  return out;
}

Tensor fft_c2r(const Tensor& input, IntSpan dim, int64_t size, double scale, bool forward) {
  const Shape dims = dims_of("fft_c2r", input, dim);
  check_sizes("fft_c2r", input, dims);
  const int last = halved_dim("fft_c2r", dims);
  if (size < 1 || input.size(last) != size / 2 + 1) {
    throw ShapeError(str("fft_c2r: needs size / 2 + 1 elements along dim ", last, ", got size ",
                         size, " and ", infer::describe(input)));
  }
  Tensor spectrum = input;
  if (dims.size() > 1) {
    spectrum = empty(input.sizes(), input.dtype(), input.device());
    const IntSpan others = IntSpan(dims).first(dims.size() - 1);
    transform_dims("fft_c2r", input, others, 1, forward, spectrum);
  }
  Shape shape(input.sizes());
  shape[last] = size;
  const Tensor out = empty(shape, real_type_of(input.dtype()), input.device());
  const auto kernel = kernel_for("fft_c2r", kernels::fft_c2r_kernels, input);
  kernel(context_of(input), view_of(spectrum), last, forward, scale, view_of(out));
  return out;
}

}  // namespace ebb::ops::impl
