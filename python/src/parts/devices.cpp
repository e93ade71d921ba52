// python/src/parts/devices.cpp -- see devices.h.
//
// Streams are numbers here and events are capsules; ebb/_devices.py makes classes of them.
#include "python/src/parts/devices.h"

#include <memory>

#include "ebb/autograd/hooks/active_run.h"
#include "ebb/core/base/log.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/device_questions.h"
#include "ebb/core/device/stream.h"
#include "ebb/core/device/stream_checks.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/pinned.h"
#include "ebb/ops/fallback.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/py.h"
#include "python/src/base/python_error.h"
#include "python/src/base/text.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/args.h"
#include "python/src/calls/pin_memory.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

PyObject* none() { return Py_NewRef(Py_None); }

/// For what may wait: other Python threads run meanwhile.
template <typename Body>
void without_lock(Body body) {
  const ReleaseGil released;
  body();
}

// --- devices ---

PyObject* load_plugin(PyObject*, PyObject* path) {
  return guarded_as("load_device_plugin", [&] {
    return make_device({load_device_plugin(path_of("load_device_plugin", path)), 0});
  });
}

PyObject* list_devices(PyObject*, PyObject*) {
  const Ref list(PyList_New(0));
  for (const Device device : all_devices()) {
    const Ref item(make_device(device));
    check_status(PyList_Append(list.get(), item.get()));
  }
  return Py_NewRef(list.get());
}

PyObject* get_default(PyObject*, PyObject*) {
  return guarded([] { return make_device(default_device()); });
}
PyObject* set_default(PyObject*, PyObject* device) {
  return guarded_as("set_default_device", [&] {
    set_default_device(device == Py_None ? Device{} : to_device(device));
    return none();
  });
}

PyObject* memory_of(PyObject*, PyObject* device) {
  const DeviceMemoryStats stats = device_memory_stats(to_device(device));
  return checked(Py_BuildValue(
      "{sLsLsLsLsL}", "live", static_cast<long long>(stats.live), "peak",
      static_cast<long long>(stats.peak), "blocks", static_cast<long long>(stats.blocks), "free",
      static_cast<long long>(stats.free), "total", static_cast<long long>(stats.total)));
}
PyObject* reset_peak_of(PyObject*, PyObject* device) {
  reset_peak_device_memory(to_device(device));
  reset_peak_reserved_bytes(to_device(device));
  return none();
}

/// Name, version of instructions, units: of a function that Python calls `call`.
PyObject* describe(PyObject*, PyObject* args) {
  const char* call = nullptr;
  PyObject* device = nullptr;
  if (PyArg_ParseTuple(args, "sO", &call, &device) == 0) throw ErrorSet();
  const DeviceDescription found = describe_device(call, to_device(device));
  return checked(Py_BuildValue("(siii)", found.name, found.major, found.minor, found.units));
}
PyObject* convolution_library(PyObject*, PyObject* device) {
  const Device wanted = to_device(device);
  uint64_t version = 0;
  without_lock([&] { version = convolution_library_of(wanted); });
  return checked(PyLong_FromUnsignedLongLong(version));
}
PyObject* empty_cache_of(PyObject*, PyObject* device) {
  const Device wanted = to_device(device);
  without_lock([&] { empty_device_cache(wanted); });
  return none();
}
PyObject* reserved_of(PyObject*, PyObject* device) {
  const ReservedBytes bytes = reserved_device_bytes(to_device(device));
  return checked(Py_BuildValue("(KK)", static_cast<unsigned long long>(bytes.now),
                               static_cast<unsigned long long>(bytes.peak)));
}

// --- pinned memory ---

std::optional<Device> device_if_any(PyObject* device) {
  return device == Py_None ? std::nullopt : std::optional(to_device(device));
}
const Tensor& tensor_in(PyObject* object) {
  if (!is_tensor(object)) throw DTypeError(str("needs a Tensor, got ", type_name(object)));
  return tensor_of(object);
}

/// _pin_memory(tensor, device or None)
PyObject* pin(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_as("pin_memory", [&] {
    check_count("pin_memory", count, 2);
    const Tensor& tensor = tensor_in(args[0]);
    Tensor made = pinned(tensor, device_if_any(args[1]));
    return made.is_same(tensor) ? Py_NewRef(args[0]) : wrap(std::move(made));
  });
}
PyObject* pin_leaf(PyObject*, PyObject* leaf) {
  return guarded_as("pin_memory", [&] { return wrap(pinned_leaf(tensor_in(leaf))); });
}
/// Whether _pin_memory() of the device, or of any if None, has such memory.
PyObject* has_pinned(PyObject*, PyObject* device) {
  return guarded_as("pin_memory", [&] {
    const std::optional<Device> asked = device_if_any(device);
    return PyBool_FromLong(asked ? can_pin(*asked) : pinning_device().has_value());
  });
}
/// _is_pinned(tensor, device or None)
PyObject* is_in_pinned(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_as("is_pinned", [&] {
    check_count("is_pinned", count, 2);
    const std::optional<Device> device = device_if_any(args[1]);
    const auto type = device ? std::optional(device->type) : std::nullopt;
    return PyBool_FromLong(is_pinned(tensor_in(args[0]), type));
  });
}

/// How often this process has waited for a device.
PyObject* count_waits(PyObject*, PyObject*) {
  return guarded([] { return checked(PyLong_FromLongLong(ebb::detail::device_waits())); });
}

PyObject* get_fallback(PyObject*, PyObject*) {
  return PyBool_FromLong(ops::is_kernel_fallback_enabled());
}
PyObject* set_fallback(PyObject*, PyObject* enabled) {
  if (!PyBool_Check(enabled)) {
    throw DTypeError(str("set_kernel_fallback: needs a bool, got ", type_name(enabled)));
  }
  ops::set_kernel_fallback(enabled == Py_True);
  return none();
}
PyObject* forget_warnings(PyObject*, PyObject*) {
  ops::forget_fallback_warnings();
  return none();
}

// --- streams ---

/// A device and a stream's number.
Stream stream_of(PyObject* args, const char* format) {
  PyObject* device = nullptr;
  int id = 0;
  if (PyArg_ParseTuple(args, format, &device, &id) == 0) throw ErrorSet();
  return {to_device(device), static_cast<uint16_t>(id)};
}

PyObject* make_stream(PyObject*, PyObject* device) {
  return guarded([&] { return checked(PyLong_FromLong(new_stream(to_device(device)).id)); });
}
PyObject* get_stream(PyObject*, PyObject* device) {
  return guarded([&] { return checked(PyLong_FromLong(current_stream(to_device(device)).id)); });
}
PyObject* set_stream(PyObject*, PyObject* args) {
  set_current_stream(stream_of(args, "Oi"));
  return none();
}
PyObject* stream_is_idle(PyObject*, PyObject* args) {
  return guarded([&] { return PyBool_FromLong(is_idle(stream_of(args, "Oi"))); });
}
PyObject* wait_for_stream(PyObject*, PyObject* args) {
  const Stream stream = stream_of(args, "Oi");
  without_lock([&] { synchronize(stream); });
  return none();
}
PyObject* wait_for_device(PyObject*, PyObject* device) {
  const Device wanted = to_device(device);
  if (wanted != Device{}) plugin_of("synchronize", wanted);
  without_lock([&] { synchronize(wanted); });
  return none();
}

// --- events ---

constexpr const char* kEvent = "ebb.event";

Event& event_in(PyObject* capsule) {
  auto* const event = static_cast<Event*>(PyCapsule_GetPointer(capsule, kEvent));
  if (event == nullptr) throw ErrorSet();
  return *event;
}

PyObject* make_event(PyObject*, PyObject* device) {
  auto event = std::make_unique<Event>(to_device(device));
  PyObject* const capsule = checked(PyCapsule_New(event.get(), kEvent, [](PyObject* owner) {
    delete static_cast<Event*>(PyCapsule_GetPointer(owner, kEvent));
  }));
  event.release();
  return capsule;
}

/// Calls `body` with the event and the stream of (event, device, id).
template <typename Body>
PyObject* with_event(PyObject* args, Body body) {
  return guarded([&] {
    PyObject *capsule = nullptr, *device = nullptr;
    int id = 0;
    if (PyArg_ParseTuple(args, "OOi", &capsule, &device, &id) == 0) throw ErrorSet();
    Event& event = event_in(capsule);
    const Stream stream{to_device(device), static_cast<uint16_t>(id)};
    without_lock([&] { body(event, stream); });
    return none();
  });
}
PyObject* record_event(PyObject*, PyObject* args) {
  return with_event(args, [](Event& event, Stream stream) { event.record(stream); });
}
PyObject* stream_waits(PyObject*, PyObject* args) {
  return with_event(args, [](Event& event, Stream stream) { event.wait(stream); });
}
PyObject* event_is_reached(PyObject*, PyObject* capsule) {
  return guarded([&] { return PyBool_FromLong(event_in(capsule).is_reached()); });
}
PyObject* wait_for_event(PyObject*, PyObject* capsule) {
  const Event& event = event_in(capsule);
  without_lock([&] { event.synchronize(); });
  return none();
}

// --- warnings ---

/// A UserWarning, of the user's line. One that became an error is thrown: where it came from Python
/// with the lock held, as the error set; during a run, as what a run lets pass; elsewhere it is
/// printed.
void warn_user(const std::string& text) {
  const bool has_lock = PyGILState_Check() != 0;
  const AcquireGil acquired;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), stack_level_of_user()) == 0) return;
  if (has_lock) throw ErrorSet();
  if (autograd::active_run() != nullptr) throw PythonError::take();
  PyErr_WriteUnraisable(nullptr);
}

PyMethodDef kFunctions[] = {
    {"load_device_plugin", one_argument_method<load_plugin, "load_device_plugin", "path">(),
     kOnlyArgument,
     "load_device_plugin($module, path)\n--\n\n"
     "Load a shared library with a device plug-in and return its first device.\n\n"
     "Raises:\n    OSError: If the library cannot be loaded.\n"
     "    ValueError: If it is no plug-in, or one of another version.\n"
     "\nExample:\n"
     "    >>> try:\n"
     "    ...     ebb.load_device_plugin(\"libabsent.so\")\n"
     "    ... except OSError:\n"
     "    ...     print(\"cannot be loaded\")\n"
     "    cannot be loaded\n"},
    {"devices", guarded_method<list_devices>(), METH_NOARGS,
     "devices($module)\n--\n\nReturn all devices, the CPU first."
     "\n\nExample:\n"
     "    >>> ebb.devices()[0]\n"
     "    device(type='cpu')\n"},
    {"get_default_device", get_default, METH_NOARGS,
     "get_default_device($module)\n--\n\nReturn where this thread makes new tensors."
     "\n\nExample:\n"
     "    >>> ebb.get_default_device()\n"
     "    device(type='cpu')\n"},
    {"set_default_device", one_argument_method<set_default, "set_default_device", "device">(),
     kOnlyArgument,
     "set_default_device($module, device)\n--\n\nSet where this thread makes new tensors; "
     "None is the CPU."
     "\n\nExample:\n"
     "    >>> ebb.set_default_device(\"cpu\")\n"
     "    >>> ebb.empty(2).device\n"
     "    device(type='cpu')\n"
     "    >>> ebb.set_default_device(None)\n"},
    {"is_kernel_fallback_enabled", get_fallback, METH_NOARGS,
     "is_kernel_fallback_enabled($module)\n--\n\n"
     "Return whether the CPU runs what a device has no kernel for."
     "\n\nExample:\n"
     "    >>> ebb.is_kernel_fallback_enabled()\n"
     "    True\n"},
    {"set_kernel_fallback", one_argument_method<set_fallback, "set_kernel_fallback", "enabled">(),
     kOnlyArgument,
     "set_kernel_fallback($module, enabled)\n--\n\n"
     "Set whether the CPU runs what a device has no kernel for; else that is an error."
     "\n\nExample:\n"
     "    >>> ebb.set_kernel_fallback(False)\n"
     "    >>> ebb.is_kernel_fallback_enabled()\n"
     "    False\n"
     "    >>> ebb.set_kernel_fallback(True)\n"},
    {"_forget_fallback_warnings", forget_warnings, METH_NOARGS, nullptr},
    {"_device_memory_stats", guarded_method<memory_of>(), METH_O, nullptr},
    {"_reset_peak_device_memory", guarded_method<reset_peak_of>(), METH_O, nullptr},
    {"_describe_device", guarded_method<describe>(), METH_VARARGS, nullptr},
    {"_convolution_library", guarded_method<convolution_library>(), METH_O, nullptr},
    {"_empty_device_cache", guarded_method<empty_cache_of>(), METH_O, nullptr},
    {"_reserved_device_bytes", guarded_method<reserved_of>(), METH_O, nullptr},
    {"_pin_memory", as_method(pin), METH_FASTCALL, nullptr},
    {"_pinned_leaf", pin_leaf, METH_O, nullptr},
    {"_has_pinned_memory", has_pinned, METH_O, nullptr},
    {"_is_pinned", as_method(is_in_pinned), METH_FASTCALL, nullptr},
    {"_device_waits", count_waits, METH_NOARGS, nullptr},
    {"_new_stream", make_stream, METH_O, nullptr},
    {"_current_stream", get_stream, METH_O, nullptr},
    {"_set_stream", guarded_method<set_stream>(), METH_VARARGS, nullptr},
    {"_stream_is_idle", stream_is_idle, METH_VARARGS, nullptr},
    {"_synchronize_stream", guarded_method<wait_for_stream>(), METH_VARARGS, nullptr},
    {"_synchronize_device", guarded_method<wait_for_device>(), METH_O, nullptr},
    {"_new_event", guarded_method<make_event>(), METH_O, nullptr},
    {"_record_event", record_event, METH_VARARGS, nullptr},
    {"_stream_waits", stream_waits, METH_VARARGS, nullptr},
    {"_event_is_reached", event_is_reached, METH_O, nullptr},
    {"_synchronize_event", guarded_method<wait_for_event>(), METH_O, nullptr},
    {},
};

}  // namespace

void add_devices(PyObject* module) {
  set_warning_sink(warn_user);
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
