// python/src/calls/pin_memory.cpp -- see pin_memory.h.
#include "python/src/calls/pin_memory.h"

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/pinned.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/op_call.h"

namespace ebb::python {
namespace {

/// The value of a keyword; null if the call has no such one.
PyObject* keyword_of(const Call& call, std::string_view wanted) {
  for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(call.names); ++index) {
    if (utf8_of(PyTuple_GET_ITEM(call.names, index)) == wanted)
      return call.args[call.count + index];
  }
  return nullptr;
}

}  // namespace

Tensor pinned(const Tensor& tensor, std::optional<Device> device) {
  if (tensor.impl()->layout != Layout::strided) return tensor;
  if (!is_on_host(tensor)) {
    throw ValueError(
        str("pin_memory: needs a tensor of the cpu, got one on ", to_string(tensor.device())));
  }
  if (!device) device = pinning_device();
  if (!device || !can_pin(*device) || is_pinned(tensor, device->type)) return tensor;
  const auto copy = [&](const Tensor& held) {
    return copy_(empty_pinned_like(held, *device), held);
  };
  return run(is_heavy(tensor), copy, tensor);
}

Tensor pinned_leaf(const Tensor& leaf) {
  Tensor made = pinned(detach(leaf), {});
  if (leaf.requires_grad()) requires_grad_(made);
  return made;
}

PyObject* pinned_if_asked(const Call& call, PyObject* made) {
  if (made == nullptr || call.names == nullptr || keyword_of(call, "pin_memory") != Py_True) {
    return made;
  }
  if (!is_exact_tensor(made)) return made;  // a class that took part has answered
  PyObject* const out = keyword_of(call, "out");
  if (out != nullptr && out != Py_None) return made;
  const Ref plain(made);
  return wrap(pinned_leaf(tensor_of(made)));
}

}  // namespace ebb::python
