// ebb/autograd/composites/contraction.cpp -- products made of matmul: mv, dot, outer, addmm,
// baddbmm, tensordot. einsum has a file of its own.
//
// Each sets the location of its caller, so that errors name the user's line and not this file.
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/addmm.h"
#include "ebb/autograd/ops/baddbmm.h"
#include "ebb/autograd/ops/bilinear.h"
#include "ebb/autograd/ops/bmm.h"
#include "ebb/autograd/ops/dot.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mv.h"
#include "ebb/autograd/ops/outer.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/tensordot.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

bool broadcasts_to(const Tensor& input, IntSpan shape) {
  const int lead = static_cast<int>(shape.size()) - input.ndim();
  if (lead < 0) return false;
  for (int dim = 0; dim < input.ndim(); ++dim) {
    const int64_t size = input.size(dim);
    if (size != 1 && size != shape[static_cast<size_t>(dim + lead)]) return false;
  }
  return true;
}

/// beta * input + alpha * product.
Tensor combined(const char* op, const Tensor& input, const Tensor& product, const Scalar& beta,
                const Scalar& alpha) {
  if (!broadcasts_to(input, product.sizes())) {
    throw ShapeError(str(op, ": input must broadcast to the product's ",
                         PrintShape{product.sizes()}, ", got ", describe(input)));
  }
  const Tensor scaled = alpha == Scalar(1) ? product : mul(product, alpha);
  if (beta == Scalar(0)) return scaled;
  return add(scaled, beta == Scalar(1) ? input : mul(input, beta));
}

}  // namespace

Tensor mv(const Tensor& input, const Tensor& vec) {
  const autograd::CompositeCall call("mv", __builtin_return_address(0));
  check_ndim("mv", "input", input, 2, 2);
  check_ndim("mv", "vec", vec, 1, 1);
  return matmul(input, vec);
}

Tensor dot(const Tensor& input, const Tensor& tensor) {
  const autograd::CompositeCall call("dot", __builtin_return_address(0));
  check_ndim("dot", "input", input, 1, 1);
  check_ndim("dot", "tensor", tensor, 1, 1);
  return matmul(input, tensor);
}

Tensor outer(const Tensor& input, const Tensor& vec2) {
  const autograd::CompositeCall call("outer", __builtin_return_address(0));
  check_ndim("outer", "input", input, 1, 1);
  check_ndim("outer", "vec2", vec2, 1, 1);
  return mul(unsqueeze(input, 1), vec2);
}

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  const autograd::CompositeCall call("addmm", __builtin_return_address(0));
  ops::infer::check_defined("addmm", "input", input);
  check_ndim("addmm", "mat1", mat1, 2, 2);
  check_ndim("addmm", "mat2", mat2, 2, 2);
  // A row added to every row of the product: linear does both in one pass.
  const bool is_linear = beta == Scalar(1) && alpha == Scalar(1) && input.ndim() == 1 &&
                         input.size(0) == mat2.size(1) && mat1.size(1) == mat2.size(0) &&
                         input.dtype() == mat1.dtype() && mat1.dtype() == mat2.dtype();
  if (is_linear) return linear(mat1, transpose(mat2, 0, 1), input);
  return combined("addmm", input, matmul(mat1, mat2), beta, alpha);
}

Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  const autograd::CompositeCall call("baddbmm", __builtin_return_address(0));
  ops::infer::check_defined("baddbmm", "input", input);
  check_ndim("baddbmm", "batch1", batch1, 3, 3);
  check_ndim("baddbmm", "batch2", batch2, 3, 3);
  return combined("baddbmm", input, bmm(batch1, batch2), beta, alpha);
}

Tensor tensordot(const Tensor& input, const Tensor& other, IntSpan dims_input, IntSpan dims_other) {
  const autograd::CompositeCall call("tensordot", __builtin_return_address(0));
  ops::infer::check_defined("tensordot", "input", input);
  ops::infer::check_defined("tensordot", "other", other);
  if (dims_input.size() != dims_other.size()) {
    throw ValueError(str("tensordot: needs as many dims of input as of other, got ",
                         PrintShape{dims_input}, " and ", PrintShape{dims_other}));
  }
  const auto mask_of = [](IntSpan dims, const Tensor& of) {  // refuses duplicates
    return dims.empty() ? 0 : ops::infer::dim_mask("tensordot", dims, of);
  };
  const ops::infer::DimMask from_input = mask_of(dims_input, input);
  const ops::infer::DimMask from_other = mask_of(dims_other, other);
  Shape shape, left, right;  // of the result; the orders that make matrices of the operands
  int64_t rows = 1, columns = 1, inner = 1;
  for (int dim = 0; dim < input.ndim(); ++dim) {
    if ((from_input >> dim & 1) != 0) continue;
    left.push_back(dim);
    shape.push_back(input.size(dim));
    rows *= input.size(dim);
  }
  for (size_t i = 0; i < dims_input.size(); ++i) {
    const int64_t size = input.size(dims_input[i]);
    const int64_t other_size = other.size(dims_other[i]);
    if (size != other_size) {
      throw ShapeError(str("tensordot: paired dims need one size, got ", size, " and ", other_size,
                           " for ", describe(input), " and ", describe(other)));
    }
    left.push_back(normalize_dim("tensordot", dims_input[i], input));
    right.push_back(normalize_dim("tensordot", dims_other[i], other));
    inner *= size;
  }
  for (int dim = 0; dim < other.ndim(); ++dim) {
    if ((from_other >> dim & 1) != 0) continue;
    right.push_back(dim);
    shape.push_back(other.size(dim));
    columns *= other.size(dim);
  }
  const Tensor first = reshape(permute(input, left), Shape{rows, inner});
  const Tensor second = reshape(permute(other, right), Shape{inner, columns});
  return reshape(matmul(first, second), shape);
}

namespace {

void check_bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight) {
  ops::infer::check_defined("bilinear", "input1", input1);
  ops::infer::check_defined("bilinear", "input2", input2);
  ops::infer::check_defined("bilinear", "weight", weight);
  const int leading = input1.ndim() - 1;
  const bool fits = weight.ndim() == 3 && leading >= 0 && input2.ndim() == leading + 1 &&
                    equal(input1.sizes().first(leading), input2.sizes().first(leading)) &&
                    input1.size(-1) == weight.size(1) && input2.size(-1) == weight.size(2);
  if (fits) return;
  throw ShapeError(
      str("bilinear: needs inputs [..., A] and [..., B] and a weight [outputs, A, B], ", "got ",
          describe_shape(input1), ", ", describe_shape(input2), " and ", describe_shape(weight)));
}

}  // namespace

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  const autograd::CompositeCall call("bilinear", __builtin_return_address(0));
  check_bilinear(input1, input2, weight);
  const int64_t outputs = weight.size(0), inner = weight.size(1), second = weight.size(2);
  const Tensor flat = reshape(permute(weight, {1, 0, 2}), {inner, outputs * second});
  Shape shape = input1.shape();
  shape[shape.ndim() - 1] = outputs;
  shape.push_back(second);
  const Tensor left = reshape(matmul(input1, flat), shape);
  const Tensor out = squeeze(matmul(left, unsqueeze(input2, -1)), -1);
  return bias.defined() ? add(out, bias) : out;
}

}  // namespace ebb
