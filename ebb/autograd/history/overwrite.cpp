// ebb/autograd/history/overwrite.cpp -- see overwrite.h.
#include "ebb/autograd/history/overwrite.h"

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/core/base/dtype.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd {

Tensor kept(const Tensor& self) {
  const bool is_saved = is_grad_enabled() && self.defined() && self.requires_grad();
  return is_saved ? clone(self) : self;
}

const Tensor& overwrite(const char* op, const Tensor& self, const Tensor& result) {
  if (kind_of(result.dtype()) > kind_of(self.dtype())) {
    throw DTypeError(str(op, ": result type ", result.dtype(),
                         " can't be cast to the type of 'self', ", self.dtype()));
  }
  if (!equal(result.sizes(), self.sizes())) {
    throw ShapeError(str(op, ": 'self' must have the shape of the result, ",
                         ops::infer::describe(result), ", got ", ops::infer::describe(self)));
  }
  return copy_(self, result);
}

}  // namespace ebb::autograd
