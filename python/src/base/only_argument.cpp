// python/src/base/only_argument.cpp -- see only_argument.h.
#include "python/src/base/only_argument.h"

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "python/src/base/text.h"

namespace ebb::python {

PyObject* only_argument(const char* function, const char* name, PyObject* const* args,
                        Py_ssize_t count, PyObject* keywords) {
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  if (count + named != 1) {
    throw DTypeError(str(function, "(): needs one argument, '", name, "', got ", count + named));
  }
  PyObject* const keyword = named == 0 ? nullptr : PyTuple_GET_ITEM(keywords, 0);
  if (keyword != nullptr && PyUnicode_CompareWithASCIIString(keyword, name) != 0) {
    throw DTypeError(
        str(function, "(): got an unexpected keyword argument ", in_quotes(utf8_of(keyword))));
  }
  return args[0];
}

}  // namespace ebb::python
