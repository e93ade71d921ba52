// python/src/calls/averaging.h -- `size_average` and `reduce`, by which losses were told what
// `reduction=` tells them now: by name, or in the places that PyTorch's signatures give them.
#pragma once

#include <string_view>
#include <vector>

#include "python/src/base/py.h"
#include "python/src/calls/call.h"

namespace ebb::python {

/// The two keywords of one call.
class Averaging {
 public:
  /// Keeps the value if the keyword is one of the two, else returns false. Throws DTypeError unless
  /// the value is a bool or None, which means "not given".
  bool take(const char* function, std::string_view keyword, PyObject* value);
  bool is_given() const { return size_average_ != nullptr || reduce_ != nullptr; }
  /// "mean", "sum" or "none", with a warning that says so; it lives as long as Python does. Throws
  /// ErrorSet if the user made warnings errors.
  PyObject* reduction(const char* function) const;

 private:
  PyObject* size_average_ = nullptr;
  PyObject* reduce_ = nullptr;
};

/// Whether a function's call has a bool or None in `place`, where size_average stands in PyTorch's
/// order: what follows the other operands in ours is never that.
inline bool has_older_order(const Call& call, int place) {
  return call.count > place && (call.args[place] == Py_None || PyBool_Check(call.args[place]));
}

/// Such a call with the two by name.
class OlderOrder {
 public:
  OlderOrder(const Call& call, int size_average, int reduce);
  /// Lives as long as this does.
  Call call() const { return {nullptr, args_.data(), count_, names_.get()}; }

 private:
  std::vector<PyObject*> args_;  // borrowed, in order, those by name last
  Py_ssize_t count_ = 0;
  Ref names_;
};

}  // namespace ebb::python
