// python/src/parts/autocast.cpp -- entering and leaving blocks of mixed precision; the class that
// users see is written in Python (ebb/amp/autocast.py).
#include "python/src/parts/autocast.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "ebb/autograd/history/casts/autocast.h"
#include "ebb/autograd/history/casts/autocast_state.h"
#include "python/src/base/errors.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/text.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

constexpr const char* kOp = "autocast";

/// A block that this thread has entered and not left.
struct Entered {
  const PyObject* block;  // which the caller holds; here it only tells blocks apart
  autograd::AutocastFramePtr outer;
};
thread_local std::vector<Entered> entered;

/// How many blocks are around this thread; those who write blocks of their own count them too.
thread_local long nesting = 0;

bool to_bool(const char* op, PyObject* object) {
  if (PyBool_Check(object)) return object == Py_True;
  throw DTypeError(str(op, ": needs a bool, got ", type_name(object)));
}

std::vector<std::string> names_in(PyObject* object) {
  const Ref sequence(checked(PySequence_Tuple(object)));
  std::vector<std::string> names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i) {
    names.emplace_back(utf8_of(PyTuple_GET_ITEM(sequence.get(), i)));
  }
  return names;
}

// (block, device, dtype, enabled, cache_enabled, level, custom_white_list, custom_black_list):
// cache_enabled may be None, then it is as it is around the block.
PyObject* enter(PyObject*, PyObject* const* args, Py_ssize_t count) {
  check_count(kOp, count, 8);
  const AutocastOptions options = {
      .device_type = to_device(args[1]).type,
      .dtype = to_dtype(args[2]).value(),
      .enabled = to_truth(args[3]),
      .cache_enabled = args[4] == Py_None ? is_autocast_cache_enabled() : to_truth(args[4]),
      .level = static_cast<AmpLevel>(to_number(kOp, "level", args[5])),
      .custom_white_list = names_in(args[6]),
      .custom_black_list = names_in(args[7]),
  };
  Entered& made = entered.emplace_back(Entered{args[0], nullptr});
  try {
    made.outer = autograd::enter_autocast(options);
  } catch (...) {
    entered.pop_back();
    throw;
  }
  ++nesting;
  return Py_NewRef(Py_None);
}

/// Leaves a block, most often the innermost; generators may leave them in another order.
PyObject* leave(PyObject*, PyObject* block) {
  const auto found = std::find_if(entered.rbegin(), entered.rend(),
                                  [block](const Entered& one) { return one.block == block; });
  if (found == entered.rend()) {
    throw ValueError("autocast: needs to be entered before it is left");
  }
  autograd::AutocastFramePtr outer = std::move(found->outer);
  entered.erase(std::next(found).base());
  --nesting;
  autograd::leave_autocast(std::move(outer));
  return Py_NewRef(Py_None);
}

PyObject* is_enabled(PyObject*, PyObject* device) {
  return guarded([&] { return PyBool_FromLong(is_autocast_enabled(to_device(device).type)); });
}
PyObject* dtype_of(PyObject*, PyObject* device) {
  return guarded([&] { return Py_NewRef(dtype_object(autocast_dtype(to_device(device).type))); });
}
PyObject* keeps_casts(PyObject*, PyObject*) { return PyBool_FromLong(is_autocast_cache_enabled()); }

PyObject* keep_casts(PyObject*, PyObject* enabled) {
  set_autocast_cache_enabled(to_bool("set_autocast_cache_enabled", enabled));
  return Py_NewRef(Py_None);
}
PyObject* drop_casts(PyObject*, PyObject*) {
  clear_autocast_cache();
  Py_RETURN_NONE;
}

// (device, enabled)
PyObject* set_enabled(PyObject*, PyObject* const* args, Py_ssize_t count) {
  check_count("set_autocast_enabled", count, 2);
  set_autocast_enabled(to_device(args[0]).type, to_bool("set_autocast_enabled", args[1]));
  return Py_NewRef(Py_None);
}
// (device, dtype)
PyObject* set_dtype(PyObject*, PyObject* const* args, Py_ssize_t count) {
  check_count("set_autocast_dtype", count, 2);
  set_autocast_dtype(to_device(args[0]).type, to_dtype(args[1]).value());
  return Py_NewRef(Py_None);
}

PyObject* nest(PyObject*, PyObject*) { return PyLong_FromLong(++nesting); }
PyObject* unnest(PyObject*, PyObject*) { return PyLong_FromLong(--nesting); }

/// [(op, list), ...]
PyObject* rows(PyObject*, PyObject*) {
  constexpr const char* kLists[] = {"none", "lower", "float32", "widest", "first"};
  const Ref list(checked(PyList_New(0)));
  for (const autograd::AmpRow& row : autograd::amp_rows()) {
    const Ref one(
        checked(Py_BuildValue("(s#s)", row.op.data(), static_cast<Py_ssize_t>(row.op.size()),
                              kLists[static_cast<size_t>(row.list)])));
    check_status(PyList_Append(list.get(), one.get()));
  }
  return Py_NewRef(list.get());
}

PyMethodDef kFunctions[] = {
    {"_enter_autocast", guarded_method<enter>(), METH_FASTCALL, nullptr},
    {"_leave_autocast", guarded_method<leave>(), METH_O, nullptr},
    {"_is_autocast_enabled", is_enabled, METH_O, nullptr},
    {"_autocast_dtype", dtype_of, METH_O, nullptr},
    {"is_autocast_cache_enabled", keeps_casts, METH_NOARGS,
     "is_autocast_cache_enabled($module)\n--\n\n"
     "Return whether casts of weights are kept for the length of an autocast block."
     "\n\nExample:\n"
     "    >>> ebb.is_autocast_cache_enabled()\n"
     "    True\n"},
    {"set_autocast_cache_enabled",
     one_argument_method<keep_casts, "set_autocast_cache_enabled", "enabled">(), kOnlyArgument,
     "set_autocast_cache_enabled($module, enabled)\n--\n\n"
     "Keep casts of weights until they are written to, or make them each time."
     "\n\nExample:\n"
     "    >>> ebb.set_autocast_cache_enabled(False)\n"
     "    >>> ebb.is_autocast_cache_enabled()\n"
     "    False\n"
     "    >>> ebb.set_autocast_cache_enabled(True)\n"},
    {"clear_autocast_cache", drop_casts, METH_NOARGS,
     "clear_autocast_cache($module)\n--\n\n"
     "Drop the casts of weights that are kept."
     "\n\nExample:\n"
     "    >>> with ebb.autocast(\"cpu\"):\n"
     "    ...     ebb.clear_autocast_cache()\n"},
    {"autocast_increment_nesting", nest, METH_NOARGS,
     "autocast_increment_nesting($module)\n--\n\n"
     "Count one more block around this thread; return how many there are."
     "\n\nExample:\n"
     "    >>> ebb.autocast_increment_nesting(), ebb.autocast_decrement_nesting()\n"
     "    (1, 0)\n"},
    {"autocast_decrement_nesting", unnest, METH_NOARGS,
     "autocast_decrement_nesting($module)\n--\n\n"
     "Count one block less around this thread; return how many are left."
     "\n\nExample:\n"
     "    >>> ebb.autocast_increment_nesting(), ebb.autocast_decrement_nesting()\n"
     "    (1, 0)\n"},
    {"_set_autocast_enabled", guarded_method<set_enabled>(), METH_FASTCALL, nullptr},
    {"_set_autocast_dtype", guarded_method<set_dtype>(), METH_FASTCALL, nullptr},
    {"_autocast_rows", guarded_method<rows>(), METH_NOARGS, nullptr},
    {},
};

}  // namespace

void add_autocast(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
