// ebb/autograd/composites/linalg/contraction.cpp -- products of vectors and matrices, most of them
// made of matmul. einsum has a file of its own.
//
// Each sets the location of its caller, so that errors name the user's line and not this file.
#include "ebb/autograd/operands/contraction.h"

#include "ebb/autograd/history/gradients/in_blocks.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/addbmm.h"
#include "ebb/autograd/ops/addmm.h"
#include "ebb/autograd/ops/addmv.h"
#include "ebb/autograd/ops/addr.h"
#include "ebb/autograd/ops/baddbmm.h"
#include "ebb/autograd/ops/bilinear.h"
#include "ebb/autograd/ops/bmm.h"
#include "ebb/autograd/ops/cross.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/dot.h"
#include "ebb/autograd/ops/inner.h"
#include "ebb/autograd/ops/kron.h"
#include "ebb/autograd/ops/linear.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/mv.h"
#include "ebb/autograd/ops/outer.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/roll.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/tensordot.h"
#include "ebb/autograd/ops/trace.h"
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

/// A product's operands in the words of its caller. Under autocast the product casts them.
void check_one_dtype(const char* op, const char* name, const Tensor& tensor, const char* other_name,
                     const Tensor& other) {
  if ((thread_state.modes & gate::kAutocast) != 0) return;
  ops::infer::check_same_dtype(op, name, tensor, other_name, other);
}

/// beta * input + alpha * product.
Tensor combined(const char* op, const Tensor& input, const Tensor& product, const Scalar& beta,
                const Scalar& alpha) {
  if (!broadcasts_to(input, product.sizes())) {
    throw ShapeError(str(op, ": input must broadcast to the product's ",
                         PrintShape{product.sizes()}, ", got ", describe(input)));
  }
  const auto times = [](const Tensor& term, const Scalar& number) {
    return number == Scalar(1) ? term : mul(term, number);
  };
  if (beta == Scalar(0)) return times(product, alpha);
  if (!is_half(product.dtype())) return add(times(product, alpha), times(input, beta));
  // Half types: one factor goes into the sum, which is rounded once.
  return alpha == Scalar(1) ? add(product, input, beta) : add(times(input, beta), product, alpha);
}

}  // namespace

Tensor mv(const Tensor& input, const Tensor& vec) {
  const autograd::operands::mv call(input, vec);
  check_ndim("mv", "input", input, 2, 2);
  check_ndim("mv", "vec", vec, 1, 1);
  check_one_dtype("mv", "input", input, "vec", vec);
  return matmul(input, vec);
}

Tensor dot(const Tensor& input, const Tensor& tensor) {
  const autograd::operands::dot call(input, tensor);
  check_ndim("dot", "input", input, 1, 1);
  check_ndim("dot", "tensor", tensor, 1, 1);
  check_one_dtype("dot", "input", input, "tensor", tensor);
  return matmul(input, tensor);
}

Tensor outer(const Tensor& input, const Tensor& vec2) {
  const autograd::operands::outer call(input, vec2);
  check_ndim("outer", "input", input, 1, 1);
  check_ndim("outer", "vec2", vec2, 1, 1);
  return mul(unsqueeze(input, 1), vec2);
}

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  const autograd::operands::addmm call(input, mat1, mat2);
  check_ndim("addmm", "mat1", mat1, 2, 2);
  check_ndim("addmm", "mat2", mat2, 2, 2);
  check_one_dtype("addmm", "mat1", mat1, "mat2", mat2);
  // A row added to every row of the product: linear does both in one pass.
  const bool is_linear = beta == Scalar(1) && alpha == Scalar(1) && input.ndim() == 1 &&
                         input.size(0) == mat2.size(1) && mat1.size(1) == mat2.size(0) &&
                         input.dtype() == mat1.dtype() && mat1.dtype() == mat2.dtype();
  if (is_linear) return linear(mat1, transpose(mat2, 0, 1), input);
  return combined("addmm", input, matmul(mat1, mat2), beta, alpha);
}

Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  const autograd::operands::baddbmm call(input, batch1, batch2);
  check_ndim("baddbmm", "batch1", batch1, 3, 3);
  check_ndim("baddbmm", "batch2", batch2, 3, 3);
  check_one_dtype("baddbmm", "batch1", batch1, "batch2", batch2);
  return combined("baddbmm", input, bmm(batch1, batch2), beta, alpha);
}

namespace {

/// `tensor` with its sum over `dim` there, in the same dtype.
Tensor summed_over(const Tensor& tensor, int64_t dim) {
  const int64_t dims[] = {dim};
  return sum(tensor, IntSpan(dims), true, tensor.dtype());
}

/// Both with one size for each pair of dims. An element that is alone in its dim meets all of the
/// other's, and so multiplies their sum.
std::pair<Tensor, Tensor> paired(const Tensor& input, const Tensor& other, IntSpan dims_input,
                                 IntSpan dims_other) {
  Tensor left = input, right = other;
  for (size_t i = 0; i < dims_input.size(); ++i) {
    const int64_t size = input.size(dims_input[i]);
    const int64_t other_size = other.size(dims_other[i]);
    if (size == other_size) continue;
    if (size == 1) {
      right = summed_over(right, dims_other[i]);
    } else if (other_size == 1) {
      left = summed_over(left, dims_input[i]);
    } else {
      throw ShapeError(str("tensordot: paired dims need one size, got ", size, " and ", other_size,
                           " for ", describe(input), " and ", describe(other)));
    }
  }
  return {left, right};
}

}  // namespace

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
  const auto [lhs, rhs] = paired(input, other, dims_input, dims_other);
  for (size_t i = 0; i < dims_input.size(); ++i) {
    left.push_back(normalize_dim("tensordot", dims_input[i], input));
    right.push_back(normalize_dim("tensordot", dims_other[i], other));
    inner *= lhs.size(dims_input[i]);
  }
  for (int dim = 0; dim < other.ndim(); ++dim) {
    if ((from_other >> dim & 1) != 0) continue;
    right.push_back(dim);
    shape.push_back(other.size(dim));
    columns *= other.size(dim);
  }
  const Tensor first = reshape(permute(lhs, left), Shape{rows, inner});
  const Tensor second = reshape(permute(rhs, right), Shape{inner, columns});
  return reshape(matmul(first, second), shape);
}

namespace {

void check_bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight) {
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
  const autograd::operands::bilinear call(input1, input2, weight, bias);
  check_bilinear(input1, input2, weight);
  check_one_dtype("bilinear", "input1", input1, "weight", weight);
  check_one_dtype("bilinear", "input1", input1, "input2", input2);
  const int64_t outputs = weight.size(0), inner = weight.size(1), second = weight.size(2);
  Shape shape = input1.shape();
  shape[shape.ndim() - 1] = outputs;
  shape.push_back(second);
  const auto compute = [&](const Tensor& input1, const Tensor& input2, const Tensor& weight,
                           const Tensor& bias) {
    const Tensor flat = reshape(permute(weight, {1, 0, 2}), {inner, outputs * second});
    const Tensor left = reshape(matmul(input1, flat), shape);
    const Tensor out = squeeze(matmul(left, unsqueeze(input2, -1)), -1);
    return bias.defined() ? add(out, bias) : out;
  };
  // Under autocast each product has the block's dtype.
  if ((thread_state.modes & gate::kAutocast) != 0) return compute(input1, input2, weight, bias);
  return autograd::through_float(compute, input1, input2, weight, bias);
}

Tensor inner(const Tensor& input, const Tensor& other) {
  const autograd::operands::inner call(input, other);
  if (input.ndim() == 0 || other.ndim() == 0) return mul(input, other);
  if (input.size(-1) != other.size(-1)) {
    throw ShapeError(str("inner: last dims must have one size, got ", describe(input), " and ",
                         describe(other)));
  }
  return tensordot(input, other, Shape{-1}, Shape{-1});
}

Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  const autograd::operands::addr call(input, vec1, vec2);
  check_ndim("addr", "vec1", vec1, 1, 1);
  check_ndim("addr", "vec2", vec2, 1, 1);
  const Tensor product = outer(vec1, vec2);
  if (input.dtype() != DType::boolean || product.dtype() != DType::boolean) {
    return combined("addr", input, product, beta, alpha);
  }
  // Numbers beside bool would make integers of it.
  const bool counts = beta.to_complex() != 0.0, is_added = alpha.to_complex() != 0.0;
  return combined("addr", input, product, counts ? 1 : 0, is_added ? Scalar(1) : Scalar(false));
}

Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  const autograd::operands::addmv call(input, mat, vec);
  check_ndim("addmv", "mat", mat, 2, 2);
  check_ndim("addmv", "vec", vec, 1, 1);
  check_one_dtype("addmv", "mat", mat, "vec", vec);
  return combined("addmv", input, mv(mat, vec), beta, alpha);
}

Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  const autograd::operands::addbmm call(input, batch1, batch2);
  check_ndim("addbmm", "batch1", batch1, 3, 3);
  check_ndim("addbmm", "batch2", batch2, 3, 3);
  check_one_dtype("addbmm", "batch1", batch1, "batch2", batch2);
  if (batch1.size(0) != batch2.size(0)) {
    throw ShapeError(str("addbmm: batches must have one size, got ", describe(batch1), " and ",
                         describe(batch2)));
  }
  return combined("addbmm", input, tensordot(batch1, batch2, Shape{0, 2}, Shape{0, 1}), beta,
                  alpha);
}

Tensor kron(const Tensor& input, const Tensor& other) {
  const autograd::operands::kron call(input, other);
  const int ndim = std::max(input.ndim(), other.ndim());
  check_ndim("kron", ndim == input.ndim() ? "input" : "other", ndim == input.ndim() ? input : other,
             0, kMaxDims / 2);
  Shape left, right, joined;  // of [m, n] and [p, q]: [m, 1, n, 1], [1, p, 1, q], [m p, n q]
  for (int dim = -ndim; dim < 0; ++dim) {
    const int64_t outer_size = -dim > input.ndim() ? 1 : input.size(dim);
    const int64_t inner_size = -dim > other.ndim() ? 1 : other.size(dim);
    left.push_back(outer_size);
    left.push_back(1);
    right.push_back(1);
    right.push_back(inner_size);
    joined.push_back(outer_size * inner_size);
  }
  return reshape(reshape(input, left) * reshape(other, right), joined);
}

Tensor cross(const Tensor& input, const Tensor& other, std::optional<int64_t> dim) {
  const autograd::operands::cross call(input, other);
  if (input.ndim() != other.ndim()) {
    throw ShapeError(str("cross: needs as many dims of input as of other, got ", describe(input),
                         " and ", describe(other)));
  }
  int axis = dim ? normalize_dim("cross", *dim, input) : 0;
  while (!dim && axis < input.ndim() && input.size(axis) != 3) ++axis;
  if (axis == input.ndim() || input.size(axis) != 3 || other.size(axis) != 3) {
    throw ShapeError(
        str("cross: needs a dim of 3 elements, got ", describe(input), " and ", describe(other)));
  }
  const auto turned = [&](const Tensor& one, int64_t by) {
    return roll(one, Shape{by}, Shape{axis});
  };
  const auto compute = [&](const Tensor& lhs, const Tensor& rhs) {
    return turned(lhs, -1) * turned(rhs, 1) - turned(lhs, 1) * turned(rhs, -1);
  };
  return autograd::through_float(compute, input, other);
}

Tensor trace(const Tensor& input) {
  const autograd::operands::trace call(input);
  check_ndim("trace", "input", input, 2, 2);
  return sum(diagonal(input));
}

}  // namespace ebb
