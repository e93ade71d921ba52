// python/src/calls/older_factors.h -- PyTorch's older order of arguments, factors in front of what
// they scale: add(input, alpha, other), addcmul(input, value, tensor1, tensor2) and
// addmm(beta, input, alpha, mat1, mat2). Looked for once no overload fits.
#pragma once

#include <span>
#include <vector>

#include "python/src/base/py.h"
#include "python/src/calls/call.h"

namespace ebb::python {

/// Such a call with its factors by name.
class OlderFactors {
 public:
  /// Not valid if the arguments are not in that order, for factors of these names.
  OlderFactors(std::span<const char* const> names, const Call& call);
  bool is_valid() const { return names_.get() != nullptr; }
  /// Lives as long as this does.
  Call call() const { return {self_, args_.data(), count_, names_.get()}; }

 private:
  PyObject* self_;
  std::vector<PyObject*> args_;  // borrowed, in order, those by name last
  Py_ssize_t count_ = 0;
  Ref names_;
};

}  // namespace ebb::python
