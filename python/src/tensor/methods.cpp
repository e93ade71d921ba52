// python/src/tensor/methods.cpp -- methods of Tensor that are not ops.
//
// Ops are generated (op_call.h); what needs no speed is written in Python (ebb/_tensor/methods.py).
#include <cstring>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/names/print.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/empty_like.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/memory_format.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/pinned.h"
#include "ebb/core/tensor/sparse.h"
#include "python/src/autograd/autograd.h"
#include "python/src/autograd/hooks.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/text.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/op_call.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/method_docs.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
constexpr uint8_t kOptional = kHasDefault | kNoneAllowed;

/// A method without arguments from a function of the tensor.
template <PyObject* (*Body)(const Tensor&)>
PyObject* call(PyObject* self, PyObject*) {
  return guarded([&] { return Body(tensor_of(self)); });
}

PyObject* dim(const Tensor& tensor) { return PyLong_FromLong(tensor.ndim()); }
PyObject* numel(const Tensor& tensor) { return PyLong_FromLongLong(tensor.numel()); }
PyObject* storage_offset(const Tensor& tensor) {
  return PyLong_FromLongLong(tensor.storage_offset());
}
PyObject* storage_numel(const Tensor& tensor) {
  require_strided("storage_numel", "tensor", tensor);
  return PyLong_FromSize_t(tensor.impl()->storage->bytes() / item_size(tensor.dtype()));
}
PyObject* data_ptr(const Tensor& tensor) {
  require_strided("data_ptr", "tensor", tensor);
  return PyLong_FromVoidPtr(is_meta(tensor) ? nullptr : tensor.data_ptr());
}
PyObject* element_size(const Tensor& tensor) {
  return PyLong_FromSize_t(item_size(tensor.dtype()));
}
PyObject* inference_query(const Tensor& tensor) { return PyBool_FromLong(is_inference(tensor)); }
PyObject* floating_query(const Tensor& tensor) {
  return PyBool_FromLong(is_floating(tensor.dtype()));
}
PyObject* view_query(const Tensor& tensor) { return PyBool_FromLong(autograd::is_view(tensor)); }
PyObject* complex_query(const Tensor& tensor) {
  return PyBool_FromLong(is_complex(tensor.dtype()));
}

// --- size, stride ---

Param dim_params[] = {{"self", ArgKind::tensor}, {"dim", ArgKind::integer, kOptional}};
const Overload dim_overloads[] = {dim_params};
OpSpec size_spec{"size", dim_overloads};
OpSpec stride_spec{"stride", dim_overloads};

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded_call(size_spec, {self, args, count, names}, [&](const Arguments& arguments) {
    const Tensor& tensor = tensor_of(self);
    if (!arguments.given(1)) return make_size(tensor.sizes());
    return checked(PyLong_FromLongLong(tensor.size(arguments.integer(1))));
  });
}

PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded_call(stride_spec, {self, args, count, names}, [&](const Arguments& arguments) {
    const Tensor& tensor = tensor_of(self);
    if (!arguments.given(1)) return make_int_tuple(tensor.strides());
    return checked(PyLong_FromLongLong(at_dim("stride", tensor.strides(), arguments.integer(1))));
  });
}

Param format_params[] = {{"self", ArgKind::tensor}, {"memory_format", ArgKind::text, kOptional}};
const Overload format_overloads[] = {format_params};
OpSpec is_contiguous_spec{"is_contiguous", format_overloads};

PyObject* contiguous_query(PyObject* self, PyObject* const* args, Py_ssize_t count,
                           PyObject* names) {
  if (count == 0 && names == nullptr && tensor_of(self).defined()) {
    return PyBool_FromLong(tensor_of(self).is_contiguous());
  }
  return guarded_call(
      is_contiguous_spec, {self, args, count, names}, [&](const Arguments& arguments) {
        const std::string_view name = arguments.optional_text(1).value_or("contiguous_format");
        return PyBool_FromLong(lies_in(tensor_of(self), memory_format_of("is_contiguous", name)));
      });
}

// --- gradients ---

Param flag_params[] = {{"self", ArgKind::tensor}, {"requires_grad", ArgKind::boolean, kHasDefault}};
const Overload flag_overloads[] = {flag_params};
constexpr Spelling flag_spellings[] = {{"mode", "requires_grad"}};
OpSpec requires_grad_spec{"requires_grad_", flag_overloads, flag_spellings};

PyObject* set_requires_grad(PyObject* self, PyObject* const* args, Py_ssize_t count,
                            PyObject* names) {
  return guarded_call(
      requires_grad_spec, {self, args, count, names}, [&](const Arguments& arguments) {
        requires_grad_(tensor_of(self), !arguments.given(1) || arguments.boolean(1));
        return Py_NewRef(self);
      });
}

PyObject* keep_grad(const Tensor& tensor) {
  retain_grad(tensor);
  Py_RETURN_NONE;
}
PyObject* detach_self(PyObject* self, PyObject*) {
  ebb::detach_(tensor_of(self));
  return Py_NewRef(self);
}

// --- other dtypes ---

PyObject* converted(PyObject* self, DType dtype, bool copy = false) {
  const Tensor& tensor = tensor_of(self);
  if (tensor.dtype() == dtype && !copy) return Py_NewRef(self);
  return wrap(run(
      is_heavy(tensor), [&](const Tensor& held) { return ebb::cast(held, dtype); }, tensor));
}

/// The tensor on a device in a dtype; the conversion runs on the CPU if one of the two is there.
PyObject* moved(PyObject* self, Device device, DType dtype) {
  const Tensor& tensor = tensor_of(self);
  const bool casts_first = is_on_host(tensor);
  const auto move = [&](const Tensor& held) {
    if (held.dtype() == dtype) return ebb::to_device(held, device);
    if (casts_first) return ebb::to_device(ebb::cast(held, dtype), device);
    return ebb::cast(ebb::to_device(held, device), dtype);
  };
  return wrap(run(true, move, tensor));
}

struct Conversion {
  DType dtype;
  Device device;
  bool copies = false;
  std::optional<std::string_view> format;  // row-major order if none, and what is copied
  bool is_late = false;                    // whether pinned memory may be read after the call
};

/// The tensor as a conversion says: itself if it is so already.
PyObject* converted(PyObject* self, const Conversion& wanted) {
  const Tensor& tensor = tensor_of(self);
  const bool moves = wanted.device != tensor.device();
  const bool is_copy = moves || wanted.dtype != tensor.dtype() || wanted.copies;
  const bool preserves = wanted.format == "preserve_format";
  const LateCopyScope scope(wanted.is_late);
  if (preserves && is_copy && is_strided(tensor) && !tensor.is_contiguous()) {
    const auto copy = [&](const Tensor& held) {
      return ebb::copy_(ebb::empty_like(held, *wanted.format, wanted.dtype, wanted.device), held);
    };
    return wrap(run(is_heavy(tensor) || moves, copy, tensor));
  }
  Ref found(moves ? moved(self, wanted.device, wanted.dtype)
                  : converted(self, wanted.dtype, wanted.copies));
  if (!wanted.format || preserves) return found.release();
  const Tensor& made = tensor_of(found.get());
  const auto copy = [&](const Tensor& held) { return ebb::contiguous(held, *wanted.format); };
  return wrap(run(is_heavy(made), copy, made));
}

constexpr const char* cast_name(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "bool";
    case DType::uint8: return "byte";
    case DType::int8: return "char";
    case DType::int16: return "short";
    case DType::int32: return "int";
    case DType::int64: return "long";
    case DType::float16: return "half";
    case DType::bfloat16: return "bfloat16";
    case DType::float64: return "double";
    default: return "float";
  }
}

Param cast_params[] = {{"self", ArgKind::tensor},
                       {"memory_format", ArgKind::text, kOptional | kKeywordOnly}};
const Overload cast_overloads[] = {cast_params};

/// float(), long() and the like.
template <DType dtype>
PyObject* convert(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count == 0 && names == nullptr) return guarded([&] { return converted(self, dtype); });
  static OpSpec spec{cast_name(dtype), cast_overloads};
  return renamed(spec.name,
                 guarded_call(spec, {self, args, count, names}, [&](const Arguments& arguments) {
                   return converted(
                       self, {dtype, tensor_of(self).device(), false, arguments.optional_text(1)});
                 }));
}

Param to_dtype_params[] = {{"self", ArgKind::tensor},
                           {"dtype", ArgKind::dtype},
                           {"non_blocking", ArgKind::boolean, kHasDefault},
                           {"copy", ArgKind::boolean, kHasDefault},
                           {"memory_format", ArgKind::text, kOptional}};
Param to_device_params[] = {{"self", ArgKind::tensor},
                            {"device", ArgKind::device, kOptional},
                            {"dtype", ArgKind::dtype, kOptional},
                            {"non_blocking", ArgKind::boolean, kHasDefault},
                            {"copy", ArgKind::boolean, kHasDefault},
                            {"memory_format", ArgKind::text, kOptional}};
Param to_other_params[] = {{"self", ArgKind::tensor},
                           {"other", ArgKind::tensor},
                           {"non_blocking", ArgKind::boolean, kHasDefault},
                           {"copy", ArgKind::boolean, kHasDefault},
                           {"memory_format", ArgKind::text, kOptional}};
const Overload to_overloads[] = {to_dtype_params, to_device_params, to_other_params};
OpSpec to_spec{"to", to_overloads};

PyObject* convert_as_asked(const Call& call) {
  return guarded_call(to_spec, call, [&](const Arguments& arguments) {
    const Tensor& tensor = tensor_of(call.self);
    DType dtype = tensor.dtype();
    Device device = tensor.device();
    switch (arguments.overload()) {
      case 0: dtype = arguments.dtype(1); break;
      case 1:
        device = arguments.optional_device(1).value_or(device);
        dtype = arguments.optional_dtype(2).value_or(dtype);
        break;
      default: dtype = arguments.tensor(1).dtype(); device = arguments.tensor(1).device();
    }
    const int copy = arguments.overload() == 1 ? 4 : 3;
    const auto is_set = [&](int index) {
      return arguments.given(index) && arguments.boolean(index);
    };
    const auto format = arguments.optional_text(copy + 1);
    return converted(call.self, {dtype, device, is_set(copy), format, is_set(copy - 1)});
  });
}

/// to(dtype), to(device), to(device, dtype), to(other); copy=True copies in any case.
PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return renamed("to", convert_as_asked({self, args, count, names}));
}

OpSpec cpu_spec{"cpu", format_overloads};

PyObject* to_cpu(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const auto on_host = [&](std::optional<std::string_view> format) {
    return converted(self, {tensor_of(self).dtype(), Device{}, false, format});
  };
  if (count == 0 && names == nullptr) return guarded([&] { return on_host(std::nullopt); });
  return renamed(
      "cpu", guarded_call(cpu_spec, {self, args, count, names}, [&](const Arguments& arguments) {
        return on_host(arguments.optional_text(1));
      }));
}

/// record_stream(id): see Stream in ebb/_devices.py.
PyObject* use_on_stream(PyObject* self, PyObject* id) {
  const Tensor& tensor = tensor_of(self);
  record_stream(tensor, {tensor.device(), static_cast<uint16_t>(to_int64(id))});
  Py_RETURN_NONE;
}

PyObject* type_as(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) {
    throw DTypeError(str("type_as(): argument 'other' must be Tensor, got ", type_name(other)));
  }
  return converted(self, tensor_of(other).dtype());
}

// --- NumPy and Python values ---

Param force_params[] = {{"self", ArgKind::tensor},
                        {"force", ArgKind::boolean, kHasDefault | kKeywordOnly}};
const Overload force_overloads[] = {force_params};
OpSpec numpy_spec{"numpy", force_overloads};

PyObject* numpy(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count == 0 && names == nullptr) return guarded([&] { return array_of(self); });
  return guarded_call(numpy_spec, {self, args, count, names}, [&](const Arguments& arguments) {
    if (!arguments.given(1) || !arguments.boolean(1)) return array_of(self);
    const Tensor& tensor = tensor_of(self);
    const auto copy = [](const Tensor& held) { return ebb::detach(ebb::to_device(held, {})); };
    const Ref plain(wrap(run(true, copy, tensor)));
    return array_of(plain.get());
  });
}

/// For np.asarray(); dtype and copy are NumPy's arguments.
PyObject* to_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject* dtype = Py_None;
  PyObject* copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype,
                                  &copy) == 0) {
    return nullptr;
  }
  return guarded([&] {
    Ref array(array_of(self));
    if (dtype != Py_None) array = Ref(PyObject_CallMethod(array.get(), "astype", "O", dtype));
    if (copy == Py_True) array = Ref(PyObject_CallMethod(array.get(), "copy", nullptr));
    return array.release();
  });
}

// --- subclasses ---

PyTypeObject* checked_class(PyObject* object, const char* op) {
  const bool is_class = PyType_Check(object) != 0 &&
                        PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object), tensor_type) != 0;
  if (!is_class) {
    throw DTypeError(str(op, "(): needs a subclass of Tensor, got ", type_name(object)));
  }
  return reinterpret_cast<PyTypeObject*>(object);
}

PyObject* as_subclass(PyObject* self, PyObject* wanted) {
  PyTypeObject* const type = checked_class(wanted, "as_subclass");
  return wrap_as(type, alias_of(tensor_of(self)));
}

/// _make_subclass(cls, data, requires_grad=False): for __new__ of subclasses such as Parameter.
PyObject* make_subclass(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 3 || !is_tensor(args[1])) {
    throw DTypeError("_make_subclass(): needs a class, a Tensor and perhaps a bool");
  }
  const Tensor& given = tensor_of(args[1]);
  Tensor leaf = detached(given);
  // Parameter(x.data) is to x what x.data is.
  if (given.impl()->hides_writes()) leaf.impl()->flags |= TensorImpl::kUnseenWrites;
  if (count == 3 && args[2] == Py_True) requires_grad_(leaf);
  return wrap_as(checked_class(args[0], "_make_subclass"), std::move(leaf));
}

/// _become(tensor): the object is from now on what `tensor` was, and the other way round. A view of
/// what nobody else holds becomes a tensor of its own: then nobody can tell.
PyObject* become(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) throw DTypeError("_become(): needs a Tensor");
  Tensor& mine = reinterpret_cast<TensorObject*>(self)->tensor;
  Tensor& theirs = reinterpret_cast<TensorObject*>(other)->tensor;
  if (mine.is_same(theirs)) return Py_NewRef(self);
  std::swap(mine, theirs);
  mine.impl()->py_object = self;
  theirs.impl()->py_object = other;
  constexpr uint32_t kTheObjectAndTheView = 2;
  TensorImpl& before = *theirs.impl();
  const bool is_base = mine.impl()->base() == &before;
  if (is_base && before.refs.value() == kTheObjectAndTheView) {
    mine.impl()->cut_from_base();
  }
  return Py_NewRef(self);
}

PyMethodDef kMethods[] = {
    {"size", as_method(size), kFast, kSizeDoc},
    {"stride", as_method(stride), kFast, kStrideDoc},
    {"dim", call<dim>, METH_NOARGS, kDimDoc},
    {"ndimension", call<dim>, METH_NOARGS, kNdimensionDoc},
    {"numel", call<numel>, METH_NOARGS, kNumelDoc},
    {"nelement", call<numel>, METH_NOARGS, kNelementDoc},
    {"storage_offset", call<storage_offset>, METH_NOARGS, kStorageOffsetDoc},
    {"_storage_numel", call<storage_numel>, METH_NOARGS, nullptr},
    {"data_ptr", call<data_ptr>, METH_NOARGS, kDataPtrDoc},
    {"element_size", call<element_size>, METH_NOARGS, kElementSizeDoc},
    {"is_contiguous", as_method(contiguous_query), kFast, kIsContiguousDoc},
    {"is_inference", call<inference_query>, METH_NOARGS, kIsInferenceDoc},
    {"is_floating_point", call<floating_query>, METH_NOARGS, kIsFloatingPointDoc},
    {"is_complex", call<complex_query>, METH_NOARGS, kIsComplexDoc},
    {"_is_view", call<view_query>, METH_NOARGS,
     "_is_view($self)\n--\n\nReturn whether it is a view of another tensor."},
    {"item", call<item_of>, METH_NOARGS, kItemDoc},
    {"tolist", call<list_of>, METH_NOARGS, kTolistDoc},
    {"requires_grad_", as_method(set_requires_grad), kFast, kRequiresGradInPlaceDoc},
    {"retain_grad", call<keep_grad>, METH_NOARGS, kRetainGradDoc},
    {"detach_", guarded_method<detach_self>(), METH_NOARGS, kDetachInPlaceDoc},
    {"backward", as_method(tensor_backward), kFast, kBackwardDoc},
    {"register_hook", one_argument_method<tensor_register_hook, "register_hook", "hook">(),
     kOnlyArgument, kRegisterHookDoc},
    {"register_post_accumulate_grad_hook",
     one_argument_method<tensor_register_post_accumulate_hook, "register_post_accumulate_grad_hook",
                         "hook">(),
     kOnlyArgument, kRegisterPostAccumulateGradHookDoc},
    {"to", as_method(to), kFast, kToDoc},
    {"type_as", one_argument_method<type_as, "type_as", "other">(), kOnlyArgument, kTypeAsDoc},
    {"float", as_method(convert<DType::float32>), kFast, kFloatDoc},
    {"double", as_method(convert<DType::float64>), kFast, kDoubleDoc},
    {"half", as_method(convert<DType::float16>), kFast, kHalfDoc},
    {"bfloat16", as_method(convert<DType::bfloat16>), kFast, kBfloat16Doc},
    {"byte", as_method(convert<DType::uint8>), kFast, kByteDoc},
    {"char", as_method(convert<DType::int8>), kFast, kCharDoc},
    {"short", as_method(convert<DType::int16>), kFast, kShortDoc},
    {"int", as_method(convert<DType::int32>), kFast, kIntDoc},
    {"long", as_method(convert<DType::int64>), kFast, kLongDoc},
    {"bool", as_method(convert<DType::boolean>), kFast, kBoolDoc},
    {"cpu", as_method(to_cpu), kFast, kCpuDoc},
    {"_record_stream", guarded_method<use_on_stream>(), METH_O, nullptr},
    {"numpy", as_method(numpy), kFast, kNumpyDoc},
    {"__array__", as_method(to_array), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\nReturn it as NumPy asks for it."},
    {"as_subclass", one_argument_method<as_subclass, "as_subclass", "cls">(), kOnlyArgument,
     kAsSubclassDoc},
    {"_become", guarded_method<become>(), METH_O, nullptr},
    {"_make_subclass", guarded_method<make_subclass>(), METH_FASTCALL | METH_STATIC, nullptr},
};

/// Without the lock where a device must give the elements first.
std::string text_of(const Tensor& tensor) {
  if (is_on_host(tensor)) return to_text(tensor);
  const ReleaseGil unlocked;
  return to_text(tensor);
}

}  // namespace

std::vector<PyMethodDef> tensor_methods() {
  std::vector<PyMethodDef> methods(std::begin(kMethods), std::end(kMethods));
  for (const OpTable& table : op_tables()) {
    for (PyMethodDef* row = table.methods; row->ml_name != nullptr; ++row) methods.push_back(*row);
  }
  return methods;
}

PyObject* tensor_repr(PyObject* self) {
  return guarded([&] { return text_object(text_of(tensor_of(self))); });
}

}  // namespace ebb::python
