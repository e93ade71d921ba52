// ebb/ops/impl/linalg/matmul.cpp -- matmul and linear: every rank is shown to a kernel as matrices.
//
// Nothing is copied to change a shape: a vector becomes a matrix with one size of 1, and leading
// dims that lie evenly in memory are folded into rows, all on the stack.
#include "ebb/ops/impl/linalg/matmul.h"

#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/linear.h"
#include "ebb/kernels/tables/matmul.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

/// Whether all dims but the last lie in memory as one. A size of 1 has a stride without meaning.
bool folds_to_rows(const Geometry& geometry) {
  int64_t expected = -1;  // until the innermost dim of more than one row
  for (int dim = geometry.ndim - 2; dim >= 0; --dim) {
    if (geometry.sizes[dim] == 1) continue;
    if (expected >= 0 && geometry.strides[dim] != expected) return false;
    expected = geometry.sizes[dim] * geometry.strides[dim];
  }
  return true;
}

/// All dims but the last as one.
Geometry folded_to_rows(const Geometry& geometry) {
  Geometry folded;
  const int last = geometry.ndim - 1;
  int64_t rows = 1, stride = geometry.sizes[last];
  for (int dim = 0; dim < last; ++dim) {
    rows *= geometry.sizes[dim];
    if (geometry.sizes[dim] != 1) stride = geometry.strides[dim];
  }
  folded.append(rows, stride);
  folded.append(geometry.sizes[last], geometry.strides[last]);
  return folded;
}

Geometry row_of(const Tensor& vector) {
  Geometry matrix;
  matrix.append(1, vector.impl()->sizes()[0]);
  matrix.append(vector.impl()->sizes()[0], vector.impl()->strides()[0]);
  return matrix;
}

Geometry column_of(const Tensor& vector) {
  Geometry matrix;
  matrix.append(vector.impl()->sizes()[0], vector.impl()->strides()[0]);
  matrix.append(1, 1);
  return matrix;
}

[[noreturn]] void throw_mismatch(const char* what, const Tensor& input, const Tensor& other) {
  throw ShapeError(
      str("matmul: ", what, ", got ", infer::describe(input), " and ", infer::describe(other)));
}

/// The product's sizes as matrices, leading dims broadcast.
Geometry product_geometry(const Geometry& left, const Geometry& right, const Tensor& input,
                          const Tensor& other) {
  const int lead = std::max(left.ndim, right.ndim) - 2;
  Geometry out;
  for (int dim = 0; dim < lead; ++dim) {
    const int from_left = dim - (lead + 2 - left.ndim);
    const int from_right = dim - (lead + 2 - right.ndim);
    const int64_t rows = from_left >= 0 ? left.sizes[from_left] : 1;
    const int64_t columns = from_right >= 0 ? right.sizes[from_right] : 1;
    if (rows != columns && rows != 1 && columns != 1) {
      throw_mismatch("leading sizes must broadcast together", input, other);
    }
    out.append(rows == 1 ? columns : rows, 0);
  }
  out.append(left.sizes[left.ndim - 2], 0);
  out.append(right.sizes[right.ndim - 1], 0);
  return out;
}

/// `matrices` with sizes of 1 in front, up to `ndim` dims.
Geometry padded(const Geometry& matrices, int ndim) {
  if (matrices.ndim == ndim) return matrices;
  Geometry out;
  for (int dim = matrices.ndim; dim < ndim; ++dim) out.append(1, 0);
  for (int dim = 0; dim < matrices.ndim; ++dim) {
    out.append(matrices.sizes[dim], matrices.strides[dim]);
  }
  return out;
}

}  // namespace

Tensor matmul(const Tensor& input, const Tensor& other) {
  infer::check_same_device("matmul", input, other);
  infer::check_same_dtype("matmul", "input", input, "other", other);
  if (input.ndim() == 0 || other.ndim() == 0) {
    throw_mismatch("input and other need at least 1 dim", input, other);
  }
  const bool is_row = input.ndim() == 1;
  const bool is_column = other.ndim() == 1;
  Geometry left = is_row ? row_of(input) : Geometry(input);
  const Geometry right = is_column ? column_of(other) : Geometry(other);
  if (left.sizes[left.ndim - 1] != right.sizes[right.ndim - 2]) {
    throw_mismatch("inner sizes must agree", input, other);
  }
  const auto kernel = kernel_for("matmul", kernels::matmul_kernels, input);
  Geometry product = product_geometry(left, right, input, other);
  Geometry sizes = product;  // of the result: without the dims that only made vectors matrices
  if (is_column) --sizes.ndim;
  if (is_row) {
    if (!is_column) sizes.sizes[sizes.ndim - 2] = sizes.sizes[sizes.ndim - 1];
    --sizes.ndim;
  }
  const Tensor out = empty(sizes.size_span(), input.dtype(), input.device());
  // One matrix on the right: all rows on the left are one product.
  if (right.ndim == 2 && left.ndim > 2 && folds_to_rows(left)) {
    left = folded_to_rows(left);
    product = product_geometry(left, right, input, other);
  }
  contiguous_strides(product.size_span(), product.strides);
  const Geometry even_left = padded(left, product.ndim);
  const Geometry even_right = padded(right, product.ndim);
  kernel(context_of(input), even_left.over(input), even_right.over(other), product.over(out));
  return out;
}

namespace {

void check_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  infer::check_ndim("linear", "input", input, 1, kMaxDims);
  infer::check_ndim("linear", "weight", weight, 1, 2);
  infer::check_same_device("linear", input, weight);
  infer::check_same_dtype("linear", "input", input, "weight", weight);
  if (input.impl()->sizes()[input.ndim() - 1] != weight.impl()->sizes()[1]) {
    throw ShapeError(str("linear: the last size of input must be the last of weight, got ",
                         infer::describe(input), " and ", infer::describe(weight),
                         "\nhint: this input needs nn.Linear(", input.size(-1), ", ",
                         weight.size(0), ")"));
  }
  if (!bias.defined()) return;
  infer::check_same_device("linear", input, bias);
  infer::check_same_dtype("linear", "input", input, "bias", bias);
  const bool fits = bias.ndim() == 1 && bias.impl()->sizes()[0] == weight.impl()->sizes()[0];
  if (!fits) {
    throw ShapeError(str("linear: bias must hold one element per row of weight, got ",
                         infer::describe(bias), " and weight ", infer::describe(weight)));
  }
}

/// Products with one row, which leave no dim behind.
Tensor linear_of_row(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  infer::check_ndim("linear", "input", input, 1, kMaxDims);
  if (bias.defined()) {
    throw ShapeError(str("linear: a weight of one dim takes no bias, got weight ",
                         infer::describe(weight), " and bias ", infer::describe(bias)));
  }
  if (input.size(-1) != weight.size(0)) {
    throw ShapeError(str("linear: the last size of input must be the last of weight, got ",
                         infer::describe(input), " and ", infer::describe(weight)));
  }
  return matmul(input, weight);
}

}  // namespace

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (weight.defined() && weight.ndim() == 1) return linear_of_row(input, weight, bias);
  check_linear(input, weight, bias);
  const auto kernel = kernel_for("linear", kernels::linear_kernels, input);
  const Geometry given(input);
  const Tensor source = folds_to_rows(given) ? input : clone(input);
  Geometry sizes = given;
  sizes.sizes[sizes.ndim - 1] = weight.impl()->sizes()[0];
  const Tensor out = empty(sizes.size_span(), input.dtype(), input.device());

  const Geometry rows = folded_to_rows(Geometry(source));
  Geometry product;
  product.append(rows.sizes[0], weight.impl()->sizes()[0]);
  product.append(weight.impl()->sizes()[0], 1);
  if (bias.defined()) {
    const kernels::TensorView bias_view = view_of(bias);
    kernel(context_of(input), rows.over(source), view_of(weight), &bias_view, product.over(out));
  } else {
    kernel(context_of(input), rows.over(source), view_of(weight), nullptr, product.over(out));
  }
  return out;
}

}  // namespace ebb::ops::impl
