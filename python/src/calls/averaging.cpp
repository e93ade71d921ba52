// python/src/calls/averaging.cpp -- see averaging.h.
#include "python/src/calls/averaging.h"

#include <map>
#include <string>

#include "ebb/core/base/error.h"
#include "ebb/core/base/str.h"
#include "python/src/base/errors.h"

namespace ebb::python {

bool Averaging::take(const char* function, std::string_view keyword, PyObject* value) {
  const bool is_average = keyword == "size_average";
  if (!is_average && keyword != "reduce") return false;
  if (value == Py_None) return true;
  if (!PyBool_Check(value)) {
    throw DTypeError(
        str(function, "(): argument '", keyword, "' must be bool, got ", type_name(value)));
  }
  (is_average ? size_average_ : reduce_) = value;
  return true;
}

PyObject* Averaging::reduction(const char* function) const {
  const char* const meant = reduce_ == Py_False         ? "none"
                            : size_average_ == Py_False ? "sum"
                                                        : "mean";
  const std::string text =
      str(function, "(): size_average and reduce are old; write reduction='", meant, "'");
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw ErrorSet();
  static std::map<std::string_view, PyObject*> words;  // under the GIL
  PyObject*& word = words[meant];
  if (word == nullptr) word = checked(PyUnicode_InternFromString(meant));
  return word;
}

}  // namespace ebb::python
