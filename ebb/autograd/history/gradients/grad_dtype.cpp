// ebb/autograd/history/gradients/grad_dtype.cpp -- reads and sets the dtype that an accumulator
// takes.
#include "ebb/autograd/history/gradients/grad_dtype.h"

#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/error.h"

namespace ebb {
namespace {

using autograd::AccumulateGrad;

void check_leaf(const Tensor& tensor) {
  if (is_leaf(tensor)) return;
  throw AutogradError(str("grad_dtype: needs a leaf, got ",
                          autograd::describe_place(autograd::gradient_edge(tensor))));
}

void check_dtype(const Tensor& leaf, DType dtype) {
  if (!is_differentiable(dtype) || is_complex(dtype) != is_complex(leaf.dtype())) {
    throw DTypeError(str("grad_dtype: needs a ",
                         is_complex(leaf.dtype()) ? "complex" : "real floating",
                         " dtype for a leaf of ", leaf.dtype(), ", got ", dtype));
  }
  const Tensor grad = grad_of(leaf);
  if (grad.defined() && grad.dtype() != dtype) {
    throw DTypeError(str("grad_dtype: needs the dtype of the gradient there is, ", grad.dtype(),
                         ", got ", dtype, "\nhint: set grad to None first"));
  }
}

}  // namespace

DType grad_dtype(const Tensor& leaf) {
  check_leaf(leaf);
  const Producer* const producer = leaf.impl()->producer;
  if (producer == nullptr) return leaf.dtype();
  return static_cast<const AccumulateGrad*>(producer)->grad_dtype();
}

void set_grad_dtype(const Tensor& leaf, DType dtype) {
  check_leaf(leaf);
  if (!leaf.requires_grad()) {
    throw AutogradError("grad_dtype: needs a leaf that requires a gradient, got one that does not");
  }
  check_dtype(leaf, dtype);
  static_cast<AccumulateGrad&>(*leaf.impl()->producer).set_grad_dtype(dtype);
}

}  // namespace ebb
