// python/src/tensor/data.cpp -- ebb.tensor(): nested sequences to tensors, and back to lists.
//
// The first pass over nested sequences finds shape and dtype, the second writes elements. Arrays
// and tensors among them are the inner dims. Between the two passes a hostile element could change
// a list, so the second checks every length again. Nesting is bounded by kMaxDims, which also stops
// lists that contain themselves.
#include "python/src/tensor/data.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/base/number_range.h"
#include "ebb/core/device/stream.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "python/src/base/default_dtype.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/numpy_types.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/text.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/args.h"
#include "python/src/calls/op_call.h"
#include "python/src/calls/pin_memory.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {

bool hides_data_writes = false;

namespace {

bool is_nested(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return true;
  if (is_tensor(object) || is_numpy_array(object)) return false;
  return PySequence_Check(object) != 0 && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !PyDict_Check(object);
}

/// An array in memory that tensors can share: itself, or a copy in another layout or byte order.
Ref plain_array(PyObject* array) {
  const Ref dtype(PyObject_GetAttrString(array, "dtype"));
  const Ref native(PyObject_CallMethod(dtype.get(), "newbyteorder", "s", "="));
  return Ref(
      PyObject_CallMethod(numpy_module(), "require", "OO(ss)", array, native.get(), "C", "A"));
}

/// A tensor over the memory of another library's array: what has __dlpack__, or has __array__ and
/// is no sequence. Undefined for anything else.
Tensor tensor_from_foreign(PyObject* data) {
  const bool is_number = PyLong_Check(data) || PyFloat_Check(data) || PyComplex_Check(data);
  if (PyList_Check(data) || PyTuple_Check(data) || is_number) return {};
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(data));
  const bool has_capsule = PyObject_HasAttrString(type, "__dlpack__") != 0;
  if (!has_capsule &&
      (is_nested(data) || (PyObject_HasAttrString(data, "__array__") == 0 &&
                           PyObject_HasAttrString(data, "__array_interface__") == 0))) {
    return {};
  }
  if (!has_capsule) {
    const Ref array(PyObject_CallMethod(numpy_module(), "asarray", "O", data));
    return tensor_from_array(plain_array(array.get()).get());
  }
  const Ref module(PyImport_ImportModule("ebb._tensor.exchange"));
  const Ref made(PyObject_CallMethod(module.get(), "from_dlpack", "O", data));
  return tensor_of(made.get());
}

/// What has dims and a dtype of its own among nested sequences: tensors and arrays. Undefined for
/// others.
Tensor block_of(PyObject* object) {
  if (is_numpy_array(object)) return tensor_from_array(plain_array(object).get());
  if (!is_tensor(object)) return {};
  const Tensor& tensor = tensor_of(object);
  if (!tensor.defined()) return {};
  require_strided("tensor", "data", tensor);
  if (autograd::is_tracing_cuts()) autograd::note_leaving("tensor", tensor);
  return tensor;
}

/// The Python int that it is, or that stands for NumPy's number, if int64 does not hold it.
Ref large_integer(PyObject* object) {
  if (PyFloat_Check(object)) return {};
  const bool is_plain = PyLong_Check(object);
  if (!is_plain && !is_numpy_scalar(object)) return {};
  Ref number(is_plain ? Py_NewRef(object) : PyObject_CallMethod(object, "item", nullptr));
  int overflow = 0;
  if (PyLong_Check(number.get())) PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  return overflow != 0 ? std::move(number) : Ref();
}

/// Writes what int64 does not hold, to what does; throws ValueError for another dtype.
void write_large(PyObject* number, DType dtype, void* where) {
  if (is_differentiable(dtype)) {
    const double nearest = PyLong_AsDouble(number);
    if (nearest == -1 && PyErr_Occurred() != nullptr) throw ErrorSet();
    return Scalar(nearest).store_as(dtype, where, "tensor");
  }
  const unsigned long long value = PyLong_AsUnsignedLongLong(number);
  const bool fits = dtype == DType::uint64 && PyErr_Occurred() == nullptr;
  PyErr_Clear();
  if (!fits) {
    const Ref text(PyObject_Str(number));
    throw ValueError(
        str("tensor: the number must fit into ", dtype, ", got ", utf8_of(text.get())));
  }
  std::memcpy(where, &value, sizeof(value));
}

/// One element as a number. Throws DTypeError for what is none.
Scalar element(PyObject* object) {
  if (const Tensor block = block_of(object); block.defined()) return block.item_scalar();
  const std::optional<Scalar> number = to_scalar(object);
  if (number) return *number;
  throw DTypeError(str("tensor: needs numbers or sequences of numbers, got ", type_name(object),
                       PyUnicode_Check(object) ? "\nhint: ebb.StringTensor holds text" : ""));
}

std::string position_text(IntSpan position) { return str(PrintShape{position}); }

/// Finds shape and dtype of nested sequences, depth first.
class Survey {
 public:
  explicit Survey(PyObject* data) { visit(data, 0); }

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_.value_or(default_dtype()); }

 private:
  void visit(PyObject* data, int depth) {
    if (!is_nested(data)) return visit_block(data, depth);
    if (leaf_depth_ >= 0 && depth >= leaf_depth_) throw_ragged(data, depth);
    const Py_ssize_t size = PySequence_Size(data);
    check_status(static_cast<int>(size < 0 ? -1 : 0));
    if (!take_size(depth, size)) throw_ragged(data, depth);
    position_.push_back(0);
    for (Py_ssize_t index = 0; index < size; ++index) {
      position_[depth] = index;
      const Ref item(PySequence_GetItem(data, index));
      visit(item.get(), depth + 1);
    }
    position_.resize(depth);
  }

  /// A number, tensor or array.
  void visit_block(PyObject* data, int depth) {
    const Tensor block = block_of(data);
    int leaf_depth = depth + (block.defined() ? block.ndim() : 0);
    if (is_number(data, block, depth) && leaf_depth != leaf_depth_) leaf_depth = depth;
    if (leaf_depth_ < 0) leaf_depth_ = leaf_depth;
    bool fits = leaf_depth == leaf_depth_;
    for (int dim = depth; fits && dim < leaf_depth; ++dim) {
      fits = take_size(dim, block.sizes()[static_cast<size_t>(dim - depth)]);
    }
    if (!fits || leaf_depth != shape_.ndim()) throw_ragged(data, depth);
    const DType dtype = block.defined() ? block.dtype() : dtype_of(data);
    dtype_ = dtype_ ? promote(*dtype_, dtype) : dtype;
  }

  static DType dtype_of(PyObject* data) {
    const bool is_large = large_integer(data).get() != nullptr;
    return is_large ? DType::int64 : dtype_of_number(element(data));
  }

  /// As in PyTorch, a tensor of one element among others is a number, whatever its dims.
  static bool is_number(PyObject* data, const Tensor& block, int depth) {
    return depth > 0 && is_tensor(data) && block.defined() && block.numel() == 1;
  }

  /// Whether dim `depth` has this size, which it gets if it is new.
  bool take_size(int depth, int64_t size) {
    if (depth == kMaxDims) {
      throw ValueError(str("tensor: needs at most ", kMaxDims, " nested sequences, got more"));
    }
    if (depth == shape_.ndim()) shape_.push_back(size);
    return shape_[depth] == size;
  }

  [[noreturn]] void throw_ragged(PyObject* data, int depth) {
    const Shape position(IntSpan(position_).first(static_cast<size_t>(depth)));
    std::string got = type_name(data);
    std::string wanted = "a number";
    if (depth < shape_.ndim()) wanted = str("a sequence of length ", shape_[depth]);
    if (is_nested(data)) got = str("one of length ", PySequence_Size(data));
    PyErr_Clear();
    if (const Tensor block = block_of(data); block.defined() && block.ndim() > 0) {
      wanted = "a shape like that of the others";
      got = str("one of shape ", block.shape());
    }
    throw ValueError(str("tensor: sequences must not be ragged: needs ", wanted, " at ",
                         position_text(position), ", got ", got));
  }

  Shape shape_;
  Shape position_;
  int leaf_depth_ = -1;  // how deep the numbers are; -1: none seen yet
  std::optional<DType> dtype_;
};

/// Writes nested sequences to contiguous memory.
class Writer {
 public:
  explicit Writer(const Tensor& out)
      : out_(out), next_(static_cast<char*>(out.data_ptr())), left_(out.numel()) {}

  void write(PyObject* data, int depth) {
    if (depth == out_.ndim()) return write_element(data);
    if (!is_nested(data)) return write_block(data, depth);
    for (Py_ssize_t index = 0; index < out_.sizes()[static_cast<size_t>(depth)]; ++index) {
      const Ref item(PySequence_GetItem(data, index));
      write(item.get(), depth + 1);
    }
  }

 private:
  void write_element(PyObject* data) {
    if (left_ <= 0) throw_changed();
    if (const Ref large = large_integer(data); large.get() != nullptr) {
      write_large(large.get(), out_.dtype(), next_);
      return advance(1);
    }
    const Scalar number = element(data);
    number.store_as(out_.dtype(), next_, "tensor");
    advance(1);
    if (has_warned_ || !leaves_range(number, out_.dtype())) return;
    has_warned_ = true;  // once a call
    warn_of_range("tensor", number, out_.dtype());
  }

  void write_block(PyObject* data, int depth) {
    const Tensor block = block_of(data);
    const IntSpan wanted = out_.sizes().subspan(static_cast<size_t>(depth));
    if (!block.defined() || !std::ranges::equal(block.sizes(), wanted) || left_ < block.numel()) {
      throw_changed();
    }
    const NoGradGuard no_grad;
    const Tensor plain = ebb::contiguous(ebb::cast(host_copy(block), out_.dtype()));
    const auto bytes = static_cast<size_t>(plain.numel()) * item_size(out_.dtype());
    if (bytes > 0) std::memcpy(next_, plain.data_ptr(), bytes);
    advance(plain.numel());
  }

  void advance(int64_t count) {
    next_ += static_cast<size_t>(count) * item_size(out_.dtype());
    left_ -= count;
  }

  [[noreturn]] static void throw_changed() {
    throw ValueError("tensor: the sequences changed while they were read");
  }

  const Tensor& out_;
  char* next_;
  int64_t left_;
  bool has_warned_ = false;
};

/// A copy of an array, which may have any layout and byte order.
Tensor copy_of_array(PyObject* array, std::optional<DType> dtype) {
  const Tensor source = tensor_from_array(plain_array(array).get());
  return dtype && *dtype != source.dtype() ? ebb::cast(source, *dtype) : ebb::clone(source);
}

Tensor tensor_from_sequences(PyObject* data, std::optional<DType> dtype) {
  const Survey survey(data);
  const Tensor out = empty(survey.shape(), dtype.value_or(survey.dtype()));
  Writer(out).write(data, 0);
  if (autograd::is_tracing_cuts()) autograd::note_entering("tensor", out);
  return out;
}

PyObject* list_from(const Tensor& tensor, int dim, const char* data) {
  if (dim == tensor.ndim()) {
    Tensor one = empty({}, tensor.dtype());
    std::memcpy(one.data_ptr(), data, item_size(tensor.dtype()));
    return item_of(one);
  }
  const int64_t size = tensor.sizes()[static_cast<size_t>(dim)];
  const int64_t step =
      tensor.strides()[static_cast<size_t>(dim)] * static_cast<int64_t>(item_size(tensor.dtype()));
  Ref list(PyList_New(static_cast<Py_ssize_t>(size)));
  for (int64_t index = 0; index < size; ++index) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(index),
                    list_from(tensor, dim + 1, data + index * step));
  }
  return list.release();
}

constexpr uint8_t kOptional = kHasDefault | kNoneAllowed;

Param tensor_params[] = {{"data", ArgKind::object},
                         {"dtype", ArgKind::dtype, kOptional},
                         {"device", ArgKind::device, kOptional},
                         {"requires_grad", ArgKind::boolean, kHasDefault}};
const Overload tensor_overloads[] = {tensor_params};
OpSpec tensor_spec{"tensor", tensor_overloads, {}, kPinOption};

Param as_tensor_params[] = {{"data", ArgKind::object},
                            {"dtype", ArgKind::dtype, kOptional},
                            {"device", ArgKind::device, kOptional}};
const Overload as_tensor_overloads[] = {as_tensor_params};
OpSpec as_tensor_spec{"as_tensor", as_tensor_overloads};

Param asarray_params[] = {{"obj", ArgKind::object},
                          {"dtype", ArgKind::dtype, kOptional},
                          {"device", ArgKind::device, kOptional},
                          {"copy", ArgKind::boolean, kOptional},
                          {"requires_grad", ArgKind::boolean, kOptional}};
const Overload asarray_overloads[] = {asarray_params};
constexpr Spelling asarray_spellings[] = {{"data", "obj"}};
OpSpec asarray_spec{"asarray", asarray_overloads, asarray_spellings};

PyObject* copy_data(const Call& call) {
  return guarded_call(tensor_spec, call, [&](const Arguments& arguments) {
    Tensor made = tensor_from_data(arguments.object(0), arguments.optional_dtype(1),
                                   arguments.optional_device(2));
    if (arguments.given(3) && arguments.boolean(3)) requires_grad_(made);
    return wrap(std::move(made));
  });
}
PyObject* make_tensor(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Call call{nullptr, args, count, names};
  return renamed("tensor", guarded([&] { return pinned_if_asked(call, copy_data(call)); }));
}

/// A tensor of data, over its memory where that is possible.
struct Shared {
  Tensor tensor;
  bool is_copy = true;
};
Shared shared_of(PyObject* data, std::optional<DType> dtype, std::optional<Device> device) {
  const Tensor foreign = is_tensor(data) || is_numpy_array(data) || is_numpy_scalar(data)
                             ? Tensor()
                             : tensor_from_foreign(data);
  if (!foreign.defined() && !is_tensor(data) && !is_numpy_array(data)) {
    return {tensor_from_data(data, dtype, device)};
  }
  const Tensor shared = foreign.defined() ? foreign
                        : is_tensor(data) ? tensor_of(data)
                                          : tensor_from_array(data);
  const bool fits = !dtype || *dtype == shared.dtype();
  const Tensor converted = fits ? shared : ebb::cast(shared, *dtype);
  const Device place = device_for(data, device);
  return {ebb::to_device(converted, place), !fits || place != shared.device()};
}

PyObject* as_tensor(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Call call{nullptr, args, count, names};
  return renamed("as_tensor", guarded_call(as_tensor_spec, call, [&](const Arguments& arguments) {
                   return wrap(shared_of(arguments.object(0), arguments.optional_dtype(1),
                                         arguments.optional_device(2))
                                   .tensor);
                 }));
}

/// A 1-d array over the memory of what has Python's buffer interface alone, as elements of `dtype`
/// or of its own format; null for anything else.
Ref flat_array_of_buffer(PyObject* data, std::optional<DType> dtype) {
  if (PyObject_CheckBuffer(data) == 0 || is_tensor(data) || is_numpy_array(data) ||
      is_numpy_scalar(data)) {
    return Ref();
  }
  const Ref module(PyImport_ImportModule("ebb._tensor.exchange"));
  const Ref wanted(dtype ? dtype_object(*dtype) : Py_NewRef(Py_None));
  return Ref(PyObject_CallMethod(module.get(), "_flat_array", "OO", data, wanted.get()));
}

PyObject* shared_as_asked(const Call& call) {
  return guarded_call(asarray_spec, call, [&](const Arguments& arguments) {
    const std::optional<DType> dtype = arguments.optional_dtype(1);
    const Ref buffered = flat_array_of_buffer(arguments.object(0), dtype);
    auto [made, is_copy] = shared_of(buffered ? buffered.get() : arguments.object(0), dtype,
                                     arguments.optional_device(2));
    const std::optional<bool> copy = arguments.optional_boolean(3);
    if (copy == false && is_copy) {
      throw ValueError("asarray: needs a copy for this obj, dtype or device, got copy=False");
    }
    if (copy == true && !is_copy) made = ebb::clone(made);
    if (arguments.given(4) && arguments.boolean(4)) {
      made = ebb::detach(made);  // obj itself is left as it is
      requires_grad_(made);
    }
    return wrap(std::move(made));
  });
}
PyObject* asarray(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return renamed("asarray", shared_as_asked({nullptr, args, count, names}));
}

PyObject* from_numpy(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded_as("from_numpy", [&] {
    PyObject* const array = only_argument("from_numpy", "ndarray", args, count, names);
    if (!is_numpy_array(array)) {
      throw DTypeError(str("from_numpy: needs a numpy.ndarray, got ", type_name(array)));
    }
    return wrap(tensor_from_array(array));
  });
}

/// _copied_out(function, result, out): what `out=` of a function written in Python does.
PyObject* copy_out(PyObject*, PyObject* const* args, Py_ssize_t count) {
  check_count("_copied_out", count, 3);
  const std::string function(utf8_of(args[0]));
  if (!is_tensor(args[2])) {
    throw DTypeError(str(function, "(): argument 'out' must be Tensor, got ", type_name(args[2])));
  }
  if (!is_tensor(args[1])) {
    throw DTypeError(str(function, "(): needs a Tensor as result, got ", type_name(args[1])));
  }
  copied_out(function.c_str(), tensor_of(args[1]), tensor_of(args[2]));
  return Py_NewRef(args[2]);
}

/// _hide_data_writes(mode): sets hides_data_writes, and returns what it was.
PyObject* hide_data_writes(PyObject*, PyObject* mode) {
  const int truth = PyObject_IsTrue(mode);
  if (truth < 0) return nullptr;
  return PyBool_FromLong(std::exchange(hides_data_writes, truth == 1));
}

PyMethodDef kFunctions[] = {
    {"_hide_data_writes", hide_data_writes, METH_O, nullptr},
    {"_copied_out", guarded_method<copy_out>(), METH_FASTCALL, nullptr},
    {"tensor", as_method(make_tensor), METH_FASTCALL | METH_KEYWORDS,
     "tensor($module, data, dtype=None, device=None, requires_grad=False, *, pin_memory=False)\n"
     "--\n\n"
     "Return a new tensor with the values of numbers, an array, a tensor, or nested sequences of\n"
     "them; or of an array of another library, which has __dlpack__ or __array__.\n\n"
     "Raises:\n    ValueError: If sequences are ragged; names the position.\n"
     "\nExample:\n"
     "    >>> ebb.tensor([[1, 2], [3, 4]])\n"
     "    tensor([[1, 2],\n"
     "            [3, 4]])\n"
     "    >>> ebb.tensor(0.5, dtype=ebb.float64, requires_grad=True)\n"
     "    tensor(0.5000, dtype=ebb.float64, requires_grad=True)\n"},
    {"as_tensor", as_method(as_tensor), METH_FASTCALL | METH_KEYWORDS,
     "as_tensor($module, data, dtype=None, device=None)\n--\n\n"
     "Like tensor(), but share the memory of an array or tensor where that is possible.\n"
     "\nExample:\n"
     "    >>> ebb.as_tensor([1.0, 2.0])\n"
     "    tensor([1., 2.])\n"
     "    >>> x = ebb.ones(2)\n"
     "    >>> ebb.as_tensor(x) is x\n"
     "    True\n"},
    {"asarray", as_method(asarray), METH_FASTCALL | METH_KEYWORDS,
     "asarray($module, obj, dtype=None, device=None, copy=None, requires_grad=False)\n--\n\n"
     "Like as_tensor(), but copy always where copy is True, and never where it is False.\n\n"
     "The elements of a buffer such as a bytearray, all in one dim, are of its format or of "
     "dtype.\n\n"
     "Raises:\n    ValueError: If copy is False, and obj, dtype or device need a copy.\n"
     "\nExample:\n"
     "    >>> x = ebb.zeros(2)\n"
     "    >>> y = ebb.asarray(x, copy=True)\n"
     "    >>> y[0] = 1\n"
     "    >>> x\n"
     "    tensor([0., 0.])\n"},
    {"from_numpy", as_method(from_numpy), METH_FASTCALL | METH_KEYWORDS,
     "from_numpy($module, ndarray)\n--\n\n"
     "Return a tensor that shares the memory of a NumPy array.\n\n"
     "Writes through either are seen by both, but writes through NumPy are not noticed by the\n"
     "checks of saved tensors.\n\n"
     "Raises:\n    TypeError: If ebb has no such element type.\n"
     "    ValueError: For negative strides, foreign byte order or unaligned memory.\n"
     "\nExample:\n"
     "    >>> import numpy\n"
     "    >>> array = numpy.zeros(2)\n"
     "    >>> x = ebb.from_numpy(array)\n"
     "    >>> array[0] = 5\n"
     "    >>> x\n"
     "    tensor([5., 0.], dtype=ebb.float64)\n"},
    {},
};

}  // namespace

Device device_for(PyObject* data, std::optional<Device> device) {
  if (device.has_value()) return *device;
  return is_tensor(data) ? tensor_of(data).device() : default_device();
}

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, std::optional<Device> device) {
  const Tensor made = tensor_from_data(data, dtype);
  const Device wanted = device_for(data, device);
  if (made.device() == wanted) return made;
  const NoGradGuard no_grad;
  return ebb::to_device(made, wanted);
}

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    const NoGradGuard no_grad;
    const Tensor& source = tensor_of(data);
    return dtype ? ebb::cast(source, *dtype) : ebb::clone(source);
  }
  if (is_numpy_array(data)) return copy_of_array(data, dtype);
  if (is_numpy_scalar(data)) {
    const Ref array(PyObject_CallMethod(numpy_module(), "asarray", "O", data));
    return copy_of_array(array.get(), dtype);
  }
  if (const Tensor foreign = tensor_from_foreign(data); foreign.defined()) {
    const NoGradGuard no_grad;
    return dtype && *dtype != foreign.dtype() ? ebb::cast(foreign, *dtype) : ebb::clone(foreign);
  }
  return tensor_from_sequences(data, dtype);
}

PyObject* item_of(const Tensor& tensor) {
  if (autograd::is_tracing_cuts()) autograd::note_leaving("item", tensor);
  if (tensor.dtype() == DType::uint64 && tensor.numel() == 1) {  // a Scalar ends at INT64_MAX
    return checked(PyLong_FromUnsignedLongLong(*host_copy(tensor).data<uint64_t>()));
  }
  const Scalar value = tensor.item_scalar();
  switch (value.kind()) {
    case Kind::boolean: return PyBool_FromLong(value.to_int() != 0 ? 1 : 0);
    case Kind::integer: return checked(PyLong_FromLongLong(value.to_int()));
    case Kind::floating: return checked(PyFloat_FromDouble(value.to_double()));
    case Kind::complex: {
      const std::complex<double> number = value.to_complex();
      return checked(PyComplex_FromDoubles(number.real(), number.imag()));
    }
  }
  __builtin_unreachable();
}

PyObject* list_of(const Tensor& tensor) {
  if (autograd::is_tracing_cuts()) autograd::note_leaving("tolist", tensor);
  if (is_meta(tensor)) throw_no_elements("tolist");
  const Tensor readable = host_copy(tensor);
  return list_from(readable, 0, static_cast<const char*>(readable.data_ptr()));
}

void add_tensor_data(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
