// python/src/tensor/attributes.cpp -- shape, dtype, grad and the other attributes of Tensor.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "ebb/autograd/history/gradients/grad_dtype.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/conj.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/base/log.h"
#include "ebb/core/tensor/sparse.h"
#include "python/src/autograd/node_object.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/base/value_types.h"
#include "python/src/tensor/data.h"
#include "python/src/tensor/slots.h"

namespace ebb::python {
namespace {

/// A getter from a function of the tensor.
template <PyObject* (*Body)(const Tensor&)>
PyObject* get(PyObject* self, void*) {
  return guarded_attribute([&] { return Body(tensor_of(self)); });
}

PyObject* shape(const Tensor& tensor) { return make_size(tensor.sizes()); }
PyObject* dtype(const Tensor& tensor) { return Py_NewRef(dtype_object(tensor.dtype())); }
PyObject* cpu_query(const Tensor& tensor) { return PyBool_FromLong(tensor.device() == Device{}); }
/// Types of devices that PyTorch has a predicate for; all others but the CPU are custom.
constexpr std::string_view kKnownTypes[] = {"cuda", "meta", "mps", "xpu"};
std::string type_of_device(const Tensor& tensor) {
  const std::string name = to_string(tensor.device());
  return name.substr(0, name.find(':'));
}
template <int known>
PyObject* is_on(const Tensor& tensor) {
  return PyBool_FromLong(type_of_device(tensor) == kKnownTypes[known]);
}
PyObject* custom_query(const Tensor& tensor) {
  const bool is_known = std::ranges::count(kKnownTypes, type_of_device(tensor)) > 0;
  return PyBool_FromLong(tensor.device() != Device{} && !is_known);
}
PyObject* never(const Tensor&) { return PyBool_FromLong(0); }
PyObject* device(const Tensor& tensor) { return make_device(tensor.device()); }
PyObject* ndim(const Tensor& tensor) { return PyLong_FromLong(tensor.ndim()); }
PyObject* nbytes(const Tensor& tensor) { return PyLong_FromSize_t(stored_bytes(tensor)); }
PyObject* layout_name(const Tensor& tensor) {
  return PyUnicode_FromString(name_of(tensor.layout()));
}
template <Layout kLayout>
PyObject* has_layout(const Tensor& tensor) {
  return PyBool_FromLong(tensor.layout() == kLayout);
}
PyObject* no(const Tensor&) { return Py_NewRef(Py_False); }
PyObject* stored_count(const Tensor& tensor) {
  return PyLong_FromLongLong(parts_of("nnz", tensor).values.size(0));
}
PyObject* coalesced(const Tensor& tensor) {
  return PyBool_FromLong(parts_of("is_coalesced", tensor).is_coalesced);
}
PyObject* itemsize(const Tensor& tensor) { return PyLong_FromSize_t(item_size(tensor.dtype())); }
/// A view may have lost its history: its base was detached, and then written.
bool has_history(const Tensor& tensor) {
  if (tensor.requires_grad() && tensor.impl()->base() != nullptr) autograd::settle(tensor);
  return tensor.requires_grad();
}
PyObject* requires_grad(const Tensor& tensor) { return PyBool_FromLong(has_history(tensor)); }
PyObject* stop_gradient(const Tensor& tensor) { return PyBool_FromLong(!has_history(tensor)); }
PyObject* leaf(const Tensor& tensor) { return PyBool_FromLong(is_leaf(tensor)); }
PyObject* retains(const Tensor& tensor) { return PyBool_FromLong(retains_grad(tensor)); }
PyObject* version(const Tensor& tensor) { return PyLong_FromUnsignedLong(tensor.version()); }
PyObject* grad_fn(const Tensor& tensor) { return wrap_node(autograd::grad_fn(tensor)); }
PyObject* gradient(const Tensor& tensor) {
  const Tensor grad = grad_of(tensor);
  const bool never_comes = !grad.defined() && !is_leaf(tensor) && !retains_grad(tensor);
  if (never_comes && tensor.requires_grad()) {
    warn("grad: a tensor that is no leaf gets none\nhint: call retain_grad() on it first");
  }
  return wrap(grad);
}
PyObject* gradient_dtype(const Tensor& tensor) {
  return Py_NewRef(dtype_object(grad_dtype(tensor)));
}
PyObject* data(const Tensor& tensor) {
  Tensor out = detached(tensor);
  autograd::note_detached("data", out, tensor, current_location(nullptr));
  if (hides_data_writes) out.impl()->flags |= TensorImpl::kUnseenWrites;
  return wrap(std::move(out));
}
PyObject* base(const Tensor& tensor) { return wrap(autograd::base_of(tensor)); }
PyObject* output_number(const Tensor& tensor) {
  return PyLong_FromUnsignedLong(is_leaf(tensor) ? 0 : tensor.impl()->output_index);
}
/// A matrix with its dims exchanged; PyTorch still takes tensors without dims, which stay.
Tensor turned_matrix(const char* name, const Tensor& tensor) {
  require_strided(name, "self", tensor);
  if (tensor.ndim() != 2 && tensor.ndim() != 0) {
    throw ShapeError(str(name, ": needs a 2-d tensor, got shape ", describe_shape(tensor)));
  }
  return tensor.ndim() == 0 ? tensor : ebb::transpose(tensor, 0, 1);
}
Tensor turned_matrices(const char* name, const Tensor& tensor) {
  require_strided(name, "self", tensor);
  if (tensor.ndim() == 1) {
    throw ShapeError(str(name, ": needs at least 2 dims, got shape ", describe_shape(tensor)));
  }
  return tensor.ndim() == 0 ? tensor : ebb::transpose(tensor, -2, -1);
}
/// All dims in reverse: of more than two PyTorch warns, since mT may be meant.
PyObject* transposed(const Tensor& tensor) {
  if (tensor.ndim() == 2) return wrap(turned_matrix("T", tensor));
  require_strided("T", "self", tensor);
  if (tensor.ndim() > 2) {
    warn(str("T: reverses all dims of a tensor that is no matrix, got shape ",
             describe_shape(tensor), "\nhint: mT exchanges the last two, permute() says which"));
  }
  Shape reversed;
  for (int dim = tensor.ndim() - 1; dim >= 0; --dim) reversed.push_back(dim);
  return wrap(ebb::permute(tensor, reversed));
}
PyObject* matrix_transposed(const Tensor& tensor) { return wrap(turned_matrices("mT", tensor)); }
PyObject* adjoint(const Tensor& tensor) { return wrap(ebb::conj(turned_matrix("H", tensor))); }
PyObject* matrix_adjoint(const Tensor& tensor) {
  return wrap(ebb::conj(turned_matrices("mH", tensor)));
}

/// A setter of the attribute `name`.
template <typename Body>
int set(const char* name, Body&& body) {
  const int status = guarded(
      [&] {
        body();
        return 0;
      },
      -1);
  if (status < 0) name_pending_error(name);
  return status;
}

bool to_truth(PyObject* value, const char* name) {
  if (value == nullptr || !PyBool_Check(value)) {
    throw DTypeError(str(name, ": needs a bool, got ", type_name(value)));
  }
  return value == Py_True;
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return set("requires_grad",
             [&] { requires_grad_(tensor_of(self), to_truth(value, "requires_grad")); });
}

/// Paddle's word: the negation of requires_grad; True cuts a tensor that has history.
int set_stop_gradient(PyObject* self, PyObject* value, void*) {
  return set("stop_gradient", [&] {
    const bool stops = to_truth(value, "stop_gradient");
    const Tensor& tensor = tensor_of(self);
    if (stops && !is_leaf(tensor)) {
      cut_history(tensor);
    } else {
      requires_grad_(tensor, !stops);
    }
  });
}

int set_gradient(PyObject* self, PyObject* value, void*) {
  return set("grad", [&] {
    if (value == nullptr || value == Py_None) return set_grad(tensor_of(self), Tensor());
    if (!is_tensor(value)) {
      throw DTypeError(str("grad: needs a Tensor or None, got ", type_name(value)));
    }
    set_grad(tensor_of(self), tensor_of(value));
  });
}

int set_gradient_dtype(PyObject* self, PyObject* value, void*) {
  return set("grad_dtype", [&] {
    const std::optional<DType> dtype = value == nullptr ? std::nullopt : to_dtype(value);
    if (!dtype) {
      throw DTypeError(
          str("grad_dtype: needs a dtype, got ", value == nullptr ? "nothing" : type_name(value)));
    }
    set_grad_dtype(tensor_of(self), *dtype);
  });
}

/// Whether a node saved the tensor as it is, and so would see its new data. (A leaf of a gradient,
/// which others hold too, such as optimizers, is saved as a twin.)
bool may_be_saved(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return impl.saved_as_it_is != 0 && !impl.refs.is_unique() &&
         (impl.flags & TensorImpl::kLeaf) == 0 && impl.base() == nullptr;
}

/// The object holds another tensor from now on; nodes keep the one that they saved.
void exchange_tensor(PyObject* self, Tensor now) {
  Tensor& held = reinterpret_cast<TensorObject*>(self)->tensor;
  std::swap(held, now);
  held.impl()->py_object = self;
  now.impl()->py_object = nullptr;
}

/// In PyTorch nodes hold the tensor itself: backward() computes with what it was given since. Its
/// version stays the tensor's; here it is the memory's, and of another would be refused.
void show_since(const Tensor& tensor, const Tensor& data) {
  autograd::AutogradMeta* const meta = autograd::meta_of(tensor);
  const bool fits = std::ranges::equal(tensor.sizes(), data.sizes()) &&
                    tensor.dtype() == data.dtype() && tensor.device() == data.device();
  Tensor twin;
  if (meta != nullptr && fits) twin = Tensor::adopt(meta->retain_twin(tensor));
  set_data(tensor, data);
  if (twin.defined()) set_data(twin, data);
}

int set_data_of(PyObject* self, PyObject* value, void*) {
  return set("data", [&] {
    if (value == nullptr || !is_tensor(value)) {
      throw DTypeError(str("data: needs a Tensor, got ", type_name(value)));
    }
    const Tensor& tensor = tensor_of(self);
    const Tensor& data = tensor_of(value);
    if (hides_data_writes && tensor.version() == data.version()) return show_since(tensor, data);
    if (!may_be_saved(tensor)) return set_data(tensor, data);
    exchange_tensor(self, with_data(tensor, data));
  });
}

PyObject* name(const Tensor& tensor) {
  const std::string given = name_of(tensor);
  return given.empty() ? Py_NewRef(Py_None) : text_object(given);
}
/// `del tensor.name` takes the name away, as None does.
int set_name_of(PyObject* self, PyObject* value, void*) {
  return set("name", [&] {
    if (value == nullptr || value == Py_None) return set_name(tensor_of(self), "");
    if (!PyUnicode_Check(value)) {
      throw DTypeError(str("name: needs a str or None, got ", type_name(value)));
    }
    set_name(tensor_of(self), std::string(utf8_of(value)));
  });
}

}  // namespace

std::vector<PyGetSetDef> tensor_attributes() {
  return {
      {"shape", get<shape>, nullptr, "The sizes, as an ebb.Size.", nullptr},
      {"dtype", get<dtype>, nullptr, "The element type.", nullptr},
      {"is_cpu", get<cpu_query>, nullptr, "Whether the memory is the CPU's.", nullptr},
      {"is_cuda", get<is_on<0>>, nullptr, "Whether the memory is a CUDA device's.", nullptr},
      {"is_meta", get<is_on<1>>, nullptr, "Whether there is no memory, only a shape.", nullptr},
      {"is_mps", get<is_on<2>>, nullptr, "Whether the memory is an MPS device's.", nullptr},
      {"is_xpu", get<is_on<3>>, nullptr, "Whether the memory is an XPU's.", nullptr},
      {"is_nested", get<never>, nullptr, "False: there are no nested tensors.", nullptr},
      {"is_quantized", get<never>, nullptr, "False: there are no quantized tensors.", nullptr},
      {"is_mkldnn", get<never>, nullptr, "False: no memory is oneDNN's own.", nullptr},
      {"is_xla", get<never>, nullptr, "False: XLA has no tensors here.", nullptr},
      {"is_mtia", get<never>, nullptr, "False: no memory is an MTIA device's.", nullptr},
      {"is_ipu", get<never>, nullptr, "False: no memory is an IPU's.", nullptr},
      {"is_maia", get<never>, nullptr, "False: no memory is a MAIA device's.", nullptr},
      {"is_vulkan", get<never>, nullptr, "False: no memory is Vulkan's.", nullptr},
      {"is_custom_device", get<custom_query>, nullptr,
       "Whether the memory is of a device that a plug-in of another name brings.", nullptr},
      {"device", get<device>, nullptr, "Where the memory is.", nullptr},
      {"ndim", get<ndim>, nullptr, "Number of dims.", nullptr},
      {"nbytes", get<nbytes>, nullptr, "Bytes of all elements that are stored.", nullptr},
      {"_layout", get<layout_name>, nullptr, "The name of the layout.", nullptr},
      {"is_sparse", get<has_layout<Layout::sparse_coo>>, nullptr,
       "Whether the layout is sparse_coo.", nullptr},
      {"is_sparse_csr", get<has_layout<Layout::sparse_csr>>, nullptr,
       "Whether the layout is sparse_csr.", nullptr},
      {"is_selected_rows", get<has_layout<Layout::selected_rows>>, nullptr,
       "Whether the layout is selected_rows.", nullptr},
      {"is_dense", get<has_layout<Layout::strided>>, nullptr, "Whether the layout is strided.",
       nullptr},
      {"is_string_tensor", get<no>, nullptr, "False: text is a StringTensor's.", nullptr},
      {"nnz", get<stored_count>, nullptr,
       "How many values (or slices, or rows) a sparse tensor stores.", nullptr},
      {"_is_coalesced", get<coalesced>, nullptr, "See is_coalesced().", nullptr},
      {"itemsize", get<itemsize>, nullptr, "Bytes of one element.", nullptr},
      {"requires_grad", get<requires_grad>, set_requires_grad,
       "Whether operations on the tensor are recorded.", nullptr},
      {"stop_gradient", get<stop_gradient>, set_stop_gradient,
       "The negation of requires_grad; setting it True on a result cuts its history.", nullptr},
      {"is_leaf", get<leaf>, nullptr, "Whether no recorded operation made it.", nullptr},
      {"retains_grad", get<retains>, nullptr, "Whether retain_grad() was called.", nullptr},
      {"grad", get<gradient>, set_gradient, "The accumulated gradient, or None.", nullptr},
      {"grad_dtype", get<gradient_dtype>, set_gradient_dtype,
       "The dtype of a leaf's gradient: its own, unless another is set.", nullptr},
      {"grad_fn", get<grad_fn>, nullptr, "The Node that made it, or None for a leaf.", nullptr},
      {"output_nr", get<output_number>, nullptr, "Which output of grad_fn it is.", nullptr},
      {"_base", get<base>, nullptr, "The tensor whose memory a view shows, or None.", nullptr},
      {"data", get<data>, set_data_of, "The same memory without history.", nullptr},
      {"_version", get<version>, nullptr, "How often its memory was written to.", nullptr},
      {"T", get<transposed>, nullptr,
       "The dims in reverse, as a view; of more than two, with a warning.", nullptr},
      {"mT", get<matrix_transposed>, nullptr, "The last two dims exchanged, as a view.", nullptr},
      {"H", get<adjoint>, nullptr, "The conjugate of T.", nullptr},
      {"mH", get<matrix_adjoint>, nullptr, "The conjugate of mT.", nullptr},
      {"name", get<name>, set_name_of, "A name for messages and graph views, or None.", nullptr},
  };
}

}  // namespace ebb::python
