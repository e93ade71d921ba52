// python/src/parts/print_options.cpp -- see print_options.h.
#include "python/src/parts/print_options.h"

#include "ebb/autograd/history/names/print.h"
#include "python/src/base/errors.h"

namespace ebb::python {
namespace {

// (precision, threshold, edgeitems, linewidth, sci_mode: -1 for by size)
PyObject* set(PyObject*, PyObject* args) {
  int scientific = -1;
  long long threshold = 0, edge_items = 0, line_width = 0;
  PrintOptions options;
  if (PyArg_ParseTuple(args, "iLLLi", &options.precision, &threshold, &edge_items, &line_width,
                       &scientific) == 0) {
    throw ErrorSet();
  }
  options.threshold = threshold;
  options.edge_items = edge_items;
  options.line_width = line_width < 1 ? 0 : static_cast<size_t>(line_width);
  if (scientific >= 0) options.scientific = scientific != 0;
  set_print_options(options);
  return Py_NewRef(Py_None);
}

PyObject* get(PyObject*, PyObject*) {
  const PrintOptions options = print_options();
  const int scientific = options.scientific ? static_cast<int>(*options.scientific) : -1;
  return checked(Py_BuildValue("(iLLLi)", options.precision,
                               static_cast<long long>(options.threshold),
                               static_cast<long long>(options.edge_items),
                               static_cast<long long>(options.line_width), scientific));
}

PyMethodDef kFunctions[] = {{"_set_print_options", guarded_method<set>(), METH_VARARGS, nullptr},
                            {"_print_options", guarded_method<get>(), METH_NOARGS, nullptr},
                            {}};

}  // namespace

void add_print_options(PyObject* module) {
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
