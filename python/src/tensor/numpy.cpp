// python/src/tensor/numpy.cpp -- NumPy arrays as tensors and back, sharing memory.
//
// Both ways go through Python's buffer protocol, so nothing of NumPy's C interface is needed. A
// tensor over an array holds the buffer until its storage dies; a buffer over a tensor holds the
// storage. NumPy's writes are not seen by version counters.
#include <cstring>
#include <memory>
#include <string>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/core/tensor/storage.h"
#include "ebb/core/tensor/tensor_name.h"
#include "python/src/base/errors.h"
#include "python/src/base/numpy_types.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

// --- arrays to tensors ---

/// The dtype of a buffer's elements: the last letters of its format, and their size.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  if (std::strcmp(format, "Zf") == 0) return DType::complex64;
  if (std::strcmp(format, "Zd") == 0) return DType::complex128;
  if (std::strlen(format) != 1) return std::nullopt;
  switch (*format) {
    case '?': return DType::boolean;
    case 'e': return DType::float16;
    case 'f': return DType::float32;
    case 'd': return DType::float64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return size == 1   ? DType::int8
             : size == 2 ? DType::int16
             : size == 4 ? DType::int32
                         : DType::int64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return size == 1   ? DType::uint8
             : size == 2 ? DType::uint16
             : size == 4 ? DType::uint32
                         : DType::uint64;
    default: return std::nullopt;
  }
}

/// "int64", "object", ...: the array's dtype as NumPy calls it.
std::string dtype_name_of(PyObject* array) {
  PyObject* const dtype = PyObject_GetAttrString(array, "dtype");
  PyObject* const name = dtype == nullptr ? nullptr : PyObject_Str(dtype);
  const std::string text = label_of(name, "an unknown dtype");
  Py_XDECREF(name);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return text;
}

[[noreturn]] void throw_bad_dtype(PyObject* array) {
  throw DTypeError(
      str("from_numpy: needs bool, integers, float16, float32, float64, complex64 or "
          "complex128, got ",
          dtype_name_of(array)));
}

/// Frees a buffer that was borrowed for a storage.
void release_buffer(void* context) noexcept {
  call_with_gil(
      [](void* subject) {
        auto* const buffer = static_cast<Py_buffer*>(subject);
        PyBuffer_Release(buffer);
        delete buffer;
      },
      context);
}
struct BufferDeleter {
  void operator()(Py_buffer* buffer) const { release_buffer(buffer); }
};
using BufferPtr = std::unique_ptr<Py_buffer, BufferDeleter>;

BufferPtr borrow_buffer(PyObject* array) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(array, buffer.get(), PyBUF_FULL_RO) < 0) {
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError) &&
        !PyErr_ExceptionMatches(PyExc_BufferError)) {
      throw ErrorSet();
    }
    PyErr_Clear();  // such as: cannot include dtype 'M' in a buffer
    throw_bad_dtype(array);
  }
  return BufferPtr(buffer.release());
}

/// The element type of a buffer, native byte order only.
DType dtype_of_buffer(const Py_buffer& buffer, PyObject* array) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  const bool is_foreign = *format == '>' || *format == '!';
  if (*format != '\0' && std::strchr("@=<>!", *format) != nullptr) ++format;
  const std::optional<DType> dtype = dtype_of_format(format, buffer.itemsize);
  if (!dtype || static_cast<Py_ssize_t>(item_size(*dtype)) != buffer.itemsize) {
    throw_bad_dtype(array);
  }
  if (is_foreign && buffer.itemsize > 1) {
    throw ValueError(str("from_numpy: needs the machine's byte order, got ", dtype_name_of(array),
                         "\nhint: use array.astype(array.dtype.newbyteorder('='))"));
  }
  return *dtype;
}

/// Strides in elements. Returns the bytes from the first element to behind the last.
size_t read_strides(const Py_buffer& buffer, Shape& sizes, Shape& strides) {
  size_t extent = static_cast<size_t>(buffer.itemsize);
  bool is_empty = false;
  for (int dim = 0; dim < buffer.ndim; ++dim) {
    const Py_ssize_t size = buffer.shape[dim];
    Py_ssize_t stride = buffer.strides[dim];
    is_empty = is_empty || size == 0;
    if (size < 2) stride = buffer.itemsize;  // never used; NumPy may leave anything there
    if (stride < 0 || stride % buffer.itemsize != 0) {
      throw ValueError(
          str("from_numpy: needs strides that are multiples of the element size and "
              "not negative, got ",
              stride, " bytes in dim ", dim, "\nhint: use array.copy()"));
    }
    sizes.push_back(size);
    strides.push_back(stride / buffer.itemsize);
    if (size > 1) extent += static_cast<size_t>(size - 1) * static_cast<size_t>(stride);
  }
  return is_empty ? 0 : extent;
}

// --- tensors to arrays ---

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "?";
    case DType::uint8: return "B";
    case DType::uint16: return "H";
    case DType::uint32: return "I";
    case DType::uint64: return "L";
    case DType::int8: return "b";
    case DType::int16: return "h";
    case DType::int32: return "i";
    case DType::int64: return "l";
    case DType::float16: return "e";
    case DType::bfloat16: return nullptr;
    case DType::float32: return "f";
    case DType::float64: return "d";
    case DType::complex64: return "Zf";
    case DType::complex128: return "Zd";
  }
  return nullptr;
}

/// What a buffer over a tensor keeps: its storage, and the geometry that the buffer points at.
struct Export {
  Storage* storage;
  Py_ssize_t shape[kMaxDims];
  Py_ssize_t strides[kMaxDims];
};

void fill_buffer(Py_buffer& view, PyObject* owner, const TensorImpl& impl, int flags) {
  auto kept = std::make_unique<Export>();
  const auto item = static_cast<Py_ssize_t>(item_size(impl.dtype));
  for (int dim = 0; dim < impl.ndim; ++dim) {
    kept->shape[dim] = impl.sizes()[dim];
    kept->strides[dim] = impl.strides()[dim] * item;
  }
  impl.storage->retain();
  kept->storage = impl.storage;
  view.buf = impl.data;
  view.len = impl.numel * item;
  view.itemsize = item;
  view.readonly = impl.storage->is_read_only() ? 1 : 0;
  view.ndim = impl.ndim;
  view.format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format_of(impl.dtype)) : nullptr;
  view.shape = (flags & PyBUF_ND) != 0 ? kept->shape : nullptr;
  view.strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? kept->strides : nullptr;
  view.suboffsets = nullptr;
  view.internal = kept.release();
  view.obj = Py_NewRef(owner);
}

/// Why a buffer cannot be given out, or null.
const char* refusal(const Tensor& tensor, int flags) {
  if (!tensor.defined()) return "buffer: needs a defined tensor";
  if (!is_strided(tensor)) return "buffer: needs a strided tensor, as to_dense() makes one";
  if (!is_on_host(tensor)) return "buffer: needs a tensor in the CPU's memory";
  if (tensor.requires_grad() && is_grad_enabled()) {
    return "buffer: needs a tensor that does not require grad";
  }
  if (format_of(tensor.dtype()) == nullptr) return "buffer: bfloat16 has no format";
  const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  if (!tensor.is_contiguous() && !wants_strides) return "buffer: needs a contiguous tensor";
  const bool wants_to_write = (flags & PyBUF_WRITABLE) != 0;
  if (wants_to_write && tensor.impl()->storage->is_read_only()) {
    return "buffer: the memory is read-only";
  }
  return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const Tensor& tensor = tensor_of(self);
  if (const char* const reason = refusal(tensor, flags); reason != nullptr) {
    PyErr_SetString(PyExc_BufferError, reason);
    return -1;
  }
  return guarded(
      [&] {
        if (autograd::is_tracing_cuts()) autograd::note_leaving("numpy", tensor);
        fill_buffer(*view, self, *tensor.impl(), flags);
        return 0;
      },
      -1);
}

void release_export(PyObject*, Py_buffer* view) {
  const std::unique_ptr<Export> kept(static_cast<Export*>(view->internal));
  kept->storage->release();
}

}  // namespace

Tensor tensor_from_array(PyObject* array) {
  BufferPtr buffer = borrow_buffer(array);
  const DType dtype = dtype_of_buffer(*buffer, array);
  if (buffer->ndim > kMaxDims) {
    throw ValueError(str("from_numpy: needs at most ", kMaxDims, " dims, got ", buffer->ndim));
  }
  const size_t alignment = item_size(dtype) / (is_complex(dtype) ? 2 : 1);
  if (reinterpret_cast<uintptr_t>(buffer->buf) % alignment != 0) {
    throw ValueError(
        "from_numpy: needs aligned memory, got an unaligned array"
        "\nhint: use array.copy()");
  }
  Shape sizes, strides;
  const size_t bytes = read_strides(*buffer, sizes, strides);
  const bool read_only = buffer->readonly != 0;
  void* const data = buffer->buf;
  Py_buffer* const context = buffer.release();
  Tensor tensor = from_blob(data, sizes, strides, dtype, bytes, release_buffer, context);
  if (read_only) tensor.impl()->storage->mark_read_only();
  if (autograd::is_tracing_cuts()) autograd::note_entering("from_numpy", tensor);
  return tensor;
}

PyObject* array_of(PyObject* object) {
  const Tensor& tensor = tensor_of(object);
  if (tensor.requires_grad() && is_grad_enabled()) {
    throw AutogradError(str("numpy: needs a tensor that does not require grad, got one",
                            naming_of(tensor), " that does\nhint: use tensor.detach().numpy()"));
  }
  require_strided("numpy", "tensor", tensor);
  if (is_meta(tensor)) throw_no_elements("numpy");
  if (!is_on_host(tensor)) {
    throw ValueError(str("numpy: needs a tensor in the CPU's memory, got one on ",
                         to_string(tensor.device()), "\nhint: use tensor.cpu().numpy()"));
  }
  if (format_of(tensor.dtype()) == nullptr) {
    throw DTypeError(
        str("numpy: NumPy has no ", tensor.dtype(), "\nhint: use tensor.float().numpy()"));
  }
  const Ref view(PyMemoryView_FromObject(object));
  return checked(PyObject_CallMethod(numpy_module(), "asarray", "O", view.get()));
}

void append_buffer_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_bf_getbuffer, as_slot(get_buffer)});
  slots.push_back({Py_bf_releasebuffer, as_slot(release_export)});
}

}  // namespace ebb::python
