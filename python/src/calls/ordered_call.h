// python/src/calls/ordered_call.h -- a call that fits no overload, in the order that the package
// makes of it: what fills "order_arguments" of ebb/_base/seam.py is asked, if anything does.
#pragma once

#include <span>
#include <vector>

#include "python/src/base/py.h"
#include "python/src/calls/call.h"

namespace ebb::python {

/// Such a call. Asked for are functions that take `numbers` beside tensors, if one is given.
class OrderedCall {
 public:
  /// Not valid if nobody knows an order. Throws ErrorSet if who was asked raises.
  OrderedCall(std::span<const char* const> numbers, const Call& call);
  bool is_valid() const { return names_.get() != nullptr; }
  /// Lives as long as this does; the arguments are those of the call.
  Call call() const { return {self_, args_.data(), count_, names_.get()}; }

 private:
  void take(const Call& call, PyObject* args, PyObject* named);

  PyObject* self_;
  std::vector<PyObject*> args_;  // borrowed, in order, those by name last
  Py_ssize_t count_ = 0;
  Ref names_;
};

}  // namespace ebb::python
