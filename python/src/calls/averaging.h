// python/src/calls/averaging.h -- `size_average=` and `reduce=`, the keywords by which losses were
// told what `reduction=` tells them now.
#pragma once

#include <string_view>

#include "python/src/base/py.h"

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

}  // namespace ebb::python
