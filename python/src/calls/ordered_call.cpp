// python/src/calls/ordered_call.cpp -- asks the package, and puts the call together again.
#include "python/src/calls/ordered_call.h"

#include <algorithm>

#include "python/src/base/text.h"

namespace ebb::python {
namespace {

bool is_plain_number(PyObject* object) { return PyFloat_Check(object) || PyLong_Check(object); }

/// What fills the place, called with the names of numbers, whether the first argument is self, and
/// the arguments in their order; a pair of arguments in today's order and a dict, or None.
Ref asked(std::span<const char* const> numbers, const Call& call) {
  const Ref seam(PyImport_ImportModule("ebb._base.seam"));
  const Ref place(PyObject_CallMethod(seam.get(), "filled", "s", "order_arguments"));
  if (place.get() == Py_None) return Ref(Py_NewRef(Py_None));
  const Ref names(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t index = 0; index < numbers.size(); ++index) {
    PyTuple_SET_ITEM(names.get(), index, checked(PyUnicode_FromString(numbers[index])));
  }
  const Ref args(PyTuple_New(call.count));
  for (Py_ssize_t index = 0; index < call.count; ++index) {
    PyTuple_SET_ITEM(args.get(), index, Py_NewRef(call.args[index]));
  }
  PyObject* const is_method = call.self != nullptr ? Py_True : Py_False;
  return Ref(
      PyObject_CallFunctionObjArgs(place.get(), names.get(), is_method, args.get(), nullptr));
}

}  // namespace

OrderedCall::OrderedCall(std::span<const char* const> numbers, const Call& call)
    : self_(call.self) {
  if (numbers.empty() || std::none_of(call.args, call.args + call.count, is_plain_number)) return;
  const Ref answer = asked(numbers, call);
  PyObject *args = nullptr, *named = nullptr;
  if (!PyTuple_Check(answer.get())) return;  // None: nobody knows one
  if (PyArg_ParseTuple(answer.get(), "O!O!", &PyTuple_Type, &args, &PyDict_Type, &named) == 0) {
    throw ErrorSet();
  }
  take(call, args, named);
}

void OrderedCall::take(const Call& call, PyObject* args, PyObject* named) {
  const auto add = [&](PyObject* object) {
    const bool is_of_call =
        std::find(call.args, call.args + call.count, object) != call.args + call.count;
    if (is_of_call) args_.push_back(object);  // nobody would hold another
    return is_of_call;
  };
  count_ = PyTuple_GET_SIZE(args);
  for (Py_ssize_t index = 0; index < count_; ++index) {
    if (!add(PyTuple_GET_ITEM(args, index))) return;
  }
  args_.insert(args_.end(), call.args + call.count, call.args + call.count + call.named());
  std::vector<const char*> words;
  PyObject *word, *object;
  for (Py_ssize_t at = 0; PyDict_Next(named, &at, &word, &object) != 0;) {
    if (!PyUnicode_Check(word) || !add(object)) return;
    words.push_back(utf8_of(word).data());
  }
  names_ = names_with(call, words);
}

}  // namespace ebb::python
