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

OlderOrder::OlderOrder(const Call& call, int size_average, int reduce) {
  std::vector<const char*> words;
  std::vector<PyObject*> values;
  for (Py_ssize_t index = 0; index < call.count; ++index) {
    if (index != size_average && index != reduce) {
      args_.push_back(call.args[index]);
      continue;
    }
    words.push_back(index == reduce ? "reduce" : "size_average");
    values.push_back(call.args[index]);
  }
  count_ = static_cast<Py_ssize_t>(args_.size());
  args_.insert(args_.end(), call.args + call.count, call.args + call.count + call.named());
  args_.insert(args_.end(), values.begin(), values.end());
  names_ = names_with(call, words);
}

}  // namespace ebb::python
