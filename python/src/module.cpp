// python/src/module.cpp -- the extension module ebb._C: puts its parts together.
#include <string>

#include "ebb/kernels/cpu/simd/isa.h"
#include "python/src/autograd/autograd.h"
#include "python/src/autograd/checkpoint.h"
#include "python/src/autograd/checks.h"
#include "python/src/autograd/engine_threads.h"
#include "python/src/autograd/forward_mode.h"
#include "python/src/autograd/function/function.h"
#include "python/src/autograd/grad_mode.h"
#include "python/src/autograd/gradcheck.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/node_type.h"
#include "python/src/autograd/op_observer.h"
#include "python/src/autograd/run_queries.h"
#include "python/src/autograd/saved_hooks.h"
#include "python/src/autograd/saved_values.h"
#include "python/src/autograd/selective_checkpoint.h"
#include "python/src/base/default_dtype.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/generator.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/op_call.h"
#include "python/src/calls/overrides.h"
#include "python/src/calls/public_function.h"
#include "python/src/parts/autocast.h"
#include "python/src/parts/clip_grad.h"
#include "python/src/parts/devices.h"
#include "python/src/parts/explain.h"
#include "python/src/parts/files.h"
#include "python/src/parts/graph_snapshot.h"
#include "python/src/parts/init.h"
#include "python/src/parts/module_call.h"
#include "python/src/parts/module_parts.h"
#include "python/src/parts/optimizers.h"
#include "python/src/parts/picture_layout.h"
#include "python/src/parts/print_options.h"
#include "python/src/parts/profiler.h"
#include "python/src/parts/runtime.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/type.h"

namespace ebb::python {
namespace {

/// The module ebb._<space>, whose names ebb.<space> passes on. Borrowed.
PyObject* module_of(const std::string& space) {
  PyObject* const module = checked(PyImport_AddModule(("ebb._" + space).c_str()));
  if (PyObject_HasAttrString(module, "__all__") == 0) {
    const Ref names(PyList_New(0));
    check_status(PyModule_AddObjectRef(module, "__all__", names.get()));
  }
  return module;
}

void add_spaced(PyObject* ops, SpacedFunction& function) {
  PyObject* const module = module_of(function.space);
  const std::string space = std::string("ebb.") + function.space;
  const Ref name(PyUnicode_FromString(space.c_str()));
  const Ref made(PyCFunction_NewEx(&function.row, module, name.get()));
  check_status(PyModule_AddObjectRef(module, function.row.ml_name, made.get()));
  const Ref names(PyObject_GetAttrString(module, "__all__"));
  const Ref label(PyUnicode_FromString(function.row.ml_name));
  check_status(PyList_Append(names.get(), label.get()));
  if (function.key == nullptr) return;
  check_status(PyModule_AddObjectRef(ops, function.key, made.get()));
}

constexpr PyModuleDef definition_of(const char* name, const char* doc) {
  return {PyModuleDef_HEAD_INIT, name, doc, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
}

/// `_C` gets the public functions, `_C._ops` all of them with those that only tests call.
void add_ops(PyObject* module) {
  static PyModuleDef definition = definition_of("ebb._C._ops", nullptr);
  const Ref ops(PyModule_Create(&definition));
  for (const OpTable& table : op_tables()) {
    check_status(PyModule_AddFunctions(module, table.functions));
    for (const PyMethodDef* one = table.functions; one->ml_name != nullptr; ++one) {
      const Ref same(PyObject_GetAttrString(module, one->ml_name));
      check_status(PyModule_AddObjectRef(ops.get(), one->ml_name, same.get()));
    }
    check_status(PyModule_AddFunctions(ops.get(), table.hidden));
    for (SpacedFunction* one = table.spaced; one->space != nullptr; ++one) {
      add_spaced(ops.get(), *one);
    }
  }
  check_status(PyModule_AddObjectRef(module, "_ops", ops.get()));
}

int fill_module(PyObject* module) {
  return guarded(
      [&] {
        add_error_classes(module);
        add_error_names(module);
        kernels::selected_isa();  // refuses a wrong EBB_ISA now rather than never
        add_value_types(module);
        add_tensor_type(module);
        add_node_type(module);
        add_saved_values(module);
        add_saved_hooks(module);
        add_checkpoint(module);
        add_overrides(module);
        add_op_observer(module);
        add_selective_checkpoint(module);
        add_grad_mode(module);
        add_gradcheck(module);
        add_checks(module);
        add_profiler(module);
        add_forward_mode(module);
        add_function(module);
        add_generator(module);
        add_default_dtype(module);
        add_tensor_data(module);
        add_autograd(module);
        add_engine_threads(module);
        add_hooks(module);
        add_run_queries(module);
        add_explain(module);
        add_graph_snapshot(module);
        add_picture_layout(module);
        add_print_options(module);
        add_module_call(module);
        add_module_parts(module);
        add_runtime(module);
        add_devices(module);
        add_optimizers(module);
        add_autocast(module);
        add_clip_grad(module);
        add_init(module);
        add_public_function(module);
        add_files(module);
        add_ops(module);
        return 0;
      },
      -1);
}

PyModuleDef definition =
    definition_of("ebb._C", "The compiled part of ebb; use it through the package.");

}  // namespace
}  // namespace ebb::python

PyMODINIT_FUNC PyInit__C() {
#ifdef Py_GIL_DISABLED
  PyErr_SetString(PyExc_ImportError, "ebb: needs a Python with a GIL, got a free-threaded build");
  return nullptr;
#endif
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, ebb::python::kNeedsMainInterpreter);
    return nullptr;
  }
  PyObject* const module = PyModule_Create(&ebb::python::definition);
  if (module != nullptr && ebb::python::fill_module(module) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
