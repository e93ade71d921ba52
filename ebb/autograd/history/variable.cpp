// ebb/autograd/history/variable.cpp -- leaves, gradients and data of tensors.
#include "ebb/autograd/history/variable.h"

#include <algorithm>

#include "ebb/autograd/history/cut_observer.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/shared_gradient.h"
#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/history/node_block.h"
#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/sparse.h"

namespace ebb {

using autograd::AccumulateGrad;
using autograd::AutogradMeta;
using autograd::NodePtr;
using autograd::RetainedMeta;

namespace {

/// Gives a tensor without history its accumulator, which takes over a gradient set before.
void make_leaf(TensorImpl& impl) {
  AccumulateGrad* const accumulator = AccumulateGrad::create(impl, impl);
  if (impl.meta != nullptr) {
    auto* const before = static_cast<AutogradMeta*>(impl.meta);
    accumulator->set_grad(before->grad());
    accumulator->tangents.take_over(before->tangents);
    accumulator->take_names(*before);
    std::exchange(impl.meta, nullptr)->owner_died();
  }
  impl.meta = accumulator;
  impl.producer = accumulator;
  impl.output_index = 0;
  impl.flags = static_cast<uint8_t>((impl.flags & ~gate::kUnsettled) | TensorImpl::kLeaf);
}

/// Whether a leaf may change its dtype: a gradient of the old one would no longer fit.
bool may_convert(const Tensor& tensor, DType dtype) {
  const AutogradMeta* const meta = autograd::meta_of(tensor);
  const bool keeps_grad = meta != nullptr && meta->grad().defined();
  return is_leaf(tensor) && !keeps_grad && (!tensor.requires_grad() || is_differentiable(dtype));
}

bool has_hooks(const AccumulateGrad& accumulator) {
  const autograd::NodeExtra* const extra = accumulator.extra();
  return extra != nullptr && !extra->hooks->empty();
}

/// Why a tensor may not take the shape of `data`, as a hint; null if it may.
const char* reshape_refusal(const Tensor& tensor, const Tensor& data) {
  const TensorImpl& impl = *tensor.impl();
  if (!is_leaf(tensor)) return "\nhint: what has history keeps its shape";
  if (data.ndim() > impl.dim_capacity) {
    return "\nhint: memory was taken for few dims; make a new tensor for more";
  }
  const bool has_accumulator = (impl.flags & TensorImpl::kLeaf) != 0;
  if (has_accumulator && has_hooks(static_cast<const AccumulateGrad&>(*impl.producer))) {
    return "\nhint: remove the hooks of its gradient first";
  }
  return nullptr;
}

/// The accumulator of a leaf that is about to take the shape of `data`; null for what has none.
/// Made before anything changes, since memory may run out.
NodePtr<AccumulateGrad> accumulator_for(const Tensor& tensor, const Tensor& data) {
  const TensorImpl& impl = *tensor.impl();
  if ((impl.flags & TensorImpl::kLeaf) == 0) return {};
  const auto& before = static_cast<const AccumulateGrad&>(*impl.producer);
  NodePtr<AccumulateGrad> made(AccumulateGrad::create(impl, *data.impl()));
  made->take_names(before);
  if (tensor.dtype() == data.dtype()) made->set_grad_dtype(before.grad_dtype());
  made->set_accumulates((impl.flags & gate::kRequiresGrad) != 0);
  return made;
}

/// After a change of shape: a gradient and tangents no longer fit, and graphs recorded before lead
/// to the leaf as it was, which is gone for them.
void start_anew(const Tensor& tensor, NodePtr<AccumulateGrad> accumulator) {
  TensorImpl& impl = *tensor.impl();
  autograd::drop_tangents(tensor, 0);
  if (!accumulator) {
    if (AutogradMeta* const meta = autograd::meta_of(tensor); meta != nullptr) meta->set_grad({});
    return;
  }
  AccumulateGrad* const now = accumulator.leak();
  auto* const before = static_cast<AutogradMeta*>(std::exchange(impl.meta, now));
  Producer* const history = std::exchange(impl.producer, now);
  before->owner_died();
  history->release();
}

/// " for 'w'": whose gradient or data it is.
std::string for_tensor(const Tensor& tensor) {
  const std::string title = names_of(*tensor.impl()).title();
  return title.empty() ? title : str(" for ", in_quotes(title));
}

}  // namespace

Tensor requires_grad_(const Tensor& tensor, bool value) {
  const DType dtype = tensor.dtype();  // throws for an undefined tensor
  if (value && !is_differentiable(dtype)) {
    throw DTypeError(
        str("requires_grad_: needs a floating or complex dtype, got ", dtype, naming_of(tensor)));
  }
  TensorImpl& impl = *tensor.impl();
  if (value && impl.storage->is_inference() && !is_inference_mode_enabled()) {
    throw AutogradError(
        str("requires_grad_: needs a tensor that was not made in inference mode, got ",
            describe_tensor(impl), " that was\nhint: use a clone() of it"));
  }
  const bool leaf = is_leaf(tensor);  // of a view, after a look at its base
  if (!value && !leaf) {
    const autograd::Node& node = *autograd::grad_fn(tensor);
    throw AutogradError(str("requires_grad_: a tensor made by ", autograd::title_of(node), " at ",
                            line_of(node.location()), " has history, got requires_grad=False",
                            "\nhint: use detach() for a tensor without history"));
  }
  if (value && impl.producer == nullptr) make_leaf(impl);
  // A view that is no variable follows its base (views.h).
  const bool may_follow = impl.base() != nullptr && is_differentiable(dtype);
  const uint32_t others = impl.flags & ~(gate::kRequiresGrad | gate::kUnsettled);
  const uint32_t now = value ? gate::kRequiresGrad : may_follow ? gate::kUnsettled : 0;
  const bool did_require = (impl.flags & gate::kRequiresGrad) != 0;
  impl.flags = static_cast<uint8_t>(others | now);
  if ((impl.flags & TensorImpl::kLeaf) != 0 && did_require != value) {
    auto& accumulator = static_cast<AccumulateGrad&>(*impl.producer);
    accumulator.set_accumulates(value);
    autograd::CutObserver* const observer = autograd::cut_observer;
    if (observer != nullptr && value) observer->leaf_thawed(accumulator);
    if (observer != nullptr && !value) {
      observer->leaf_frozen(accumulator, current_location(__builtin_return_address(0)));
    }
  }
  return tensor;
}

Tensor grad_of(const Tensor& tensor) {
  if (!tensor.defined()) throw ValueError("grad: needs a defined tensor, got an undefined one");
  const AutogradMeta* const meta = autograd::meta_of(tensor);
  return meta == nullptr ? Tensor() : meta->grad();
}

void set_grad(const Tensor& tensor, const Tensor& grad) {
  if (!tensor.defined()) throw ValueError("grad: needs a defined tensor, got an undefined one");
  if (grad.defined()) {
    if (!equal(grad.sizes(), tensor.sizes())) {
      throw ShapeError(str("grad: needs the tensor's shape ", PrintShape{tensor.sizes()}, ", got ",
                           describe_shape(grad), for_tensor(tensor)));
    }
    const bool is_accumulated = is_leaf(tensor) && tensor.impl()->producer != nullptr;
    const DType dtype =
        is_accumulated ? static_cast<const AccumulateGrad&>(*tensor.impl()->producer).grad_dtype()
                       : tensor.dtype();
    if (grad.dtype() != dtype) {
      throw DTypeError(str("grad: needs the tensor's ",
                           dtype == tensor.dtype() ? "dtype " : "grad_dtype ", dtype, ", got ",
                           grad.dtype(), for_tensor(tensor)));
    }
    if (grad.device() != tensor.device()) {
      throw ValueError(str("grad: needs the tensor's device ", to_string(tensor.device()), ", got ",
                           to_string(grad.device()), for_tensor(tensor)));
    }
    if (grad.is_same(tensor)) throw ValueError("grad: needs another tensor, got the tensor itself");
    // It would own what owns it.
    if (grad.impl()->base() == tensor.impl()) {
      throw ValueError("grad: needs another tensor, got a view of the tensor itself");
    }
    AutogradMeta& meta = autograd::ensure_meta(tensor);
    // Not `x.grad += y` in Python, which gives back what is there.
    const bool may_be_shared = (tensor.impl()->flags & TensorImpl::kLeaf) != 0 &&
                               !grad.impl()->refs.is_unique() && !meta.grad().is_same(grad);
    meta.set_grad(grad);
    if (may_be_shared) autograd::note_shared_gradient(tensor);
    return;
  }
  if (AutogradMeta* const meta = autograd::meta_of(tensor); meta != nullptr) {
    meta->set_grad({});
  }
}

void retain_grad(const Tensor& tensor) {
  if (!tensor.requires_grad()) {
    throw AutogradError(str("retain_grad: needs a tensor that requires a gradient, got one",
                            naming_of(tensor),
                            " that does not: ", autograd::explain_origin(tensor)));
  }
  if (is_leaf(tensor)) return;
  auto& meta = static_cast<RetainedMeta&>(autograd::ensure_meta(tensor));
  const autograd::Edge edge = autograd::gradient_edge(tensor);
  if (!meta.is_attached()) meta.attach(*edge.node, edge.index);
}

bool retains_grad(const Tensor& tensor) {
  if (is_leaf(tensor) || tensor.impl()->meta == nullptr) return false;
  return static_cast<const RetainedMeta*>(tensor.impl()->meta)->is_attached();
}

autograd::GradientEdge get_gradient_edge(const Tensor& tensor) {
  if (!tensor.requires_grad()) {
    throw AutogradError(str("get_gradient_edge: needs a tensor that requires a gradient, got one",
                            naming_of(tensor),
                            " that does not: ", autograd::explain_origin(tensor)));
  }
  const autograd::Edge edge = autograd::gradient_edge(tensor);
  return {autograd::NodePtr<autograd::Node>::share(edge.node), edge.index};
}

const Tensor& detach_(const Tensor& tensor) {
  if (autograd::is_view(tensor)) {
    throw AutogradError(str("detach_: needs a tensor that is no view, got a view of shape ",
                            describe_shape(tensor), " of a tensor of shape ",
                            PrintShape{tensor.impl()->base()->shape()},
                            "\nhint: use detach(), which returns a tensor without history"));
  }
  cut_history(tensor);
  return tensor;
}

void cut_history(const Tensor& tensor) {
  tensor.dtype();  // throws for an undefined tensor
  TensorImpl& impl = *tensor.impl();
  impl.cut_from_base();
  autograd::drop_tangents(tensor, 0);
  if (impl.producer == nullptr) return;
  if ((impl.flags & TensorImpl::kLeaf) != 0) {  // nothing to cut: it keeps its gradient
    requires_grad_(tensor, false);
    return;
  }
  autograd::Origin origin =
      autograd::make_origin(autograd::Cut::detached, current_location(nullptr));
  if (autograd::is_tracing_cuts() && autograd::cut_observer != nullptr) {
    origin = autograd::cut_observer->detaching("detach_", tensor, origin);
  }
  autograd::drop_meta(impl);
  Producer* const history = std::exchange(impl.producer, nullptr);
  constexpr uint8_t kHistory = gate::kRequiresGrad | TensorImpl::kLeaf;
  impl.flags &= static_cast<uint8_t>(~kHistory);
  impl.output_index = origin;
  history->release();
}

void set_data(const Tensor& tensor, const Tensor& data) {
  require_strided("data", "tensor", tensor);
  require_strided("data", "data", data);
  const bool converts = tensor.dtype() != data.dtype();
  const bool moves = tensor.device() != data.device();
  const auto refusal = [&] {
    return str("data: needs ", tensor.dtype(), ' ', PrintShape{tensor.sizes()}, ", got ",
               describe_tensor(data), for_tensor(tensor));
  };
  const bool reshapes = !equal(tensor.sizes(), data.sizes());
  const char* const hint = reshapes ? reshape_refusal(tensor, data) : nullptr;
  if (hint != nullptr) throw ShapeError(refusal() + hint);
  if (converts && !may_convert(tensor, data.dtype())) throw DTypeError(refusal());
  if (moves && !may_convert(tensor, data.dtype())) {
    throw ValueError(str("data: needs memory on ", to_string(tensor.device()),
                         ", where the gradient or the history is, got ", to_string(data.device())));
  }
  NodePtr<AccumulateGrad> accumulator;
  if (reshapes) accumulator = accumulator_for(tensor, data);
  TensorImpl& impl = *tensor.impl();
  const TensorImpl& source = *data.impl();
  autograd::settle(tensor);
  impl.cut_from_base();
  source.storage->retain();
  std::exchange(impl.storage, source.storage)->release();
  impl.data = source.data;
  impl.ndim = source.ndim;
  impl.copy_geometry(source);
  impl.dtype = source.dtype;
  impl.device = source.device;
  if (reshapes) {
    start_anew(tensor, std::move(accumulator));
  } else if ((impl.flags & TensorImpl::kLeaf) != 0) {
    auto& accumulator = static_cast<AccumulateGrad&>(*impl.producer);
    const DType taken = accumulator.grad_dtype();
    autograd::NodeAccess::describe_output(accumulator, 0, impl);
    if (!converts) accumulator.set_grad_dtype(taken);
  }
  if (AutogradMeta* const meta = autograd::meta_of(tensor); meta != nullptr) meta->drop_twin();
}

Tensor with_data(const Tensor& tensor, const Tensor& data) {
  autograd::settle(tensor);
  Tensor next = detached(tensor);
  TensorImpl& before = *tensor.impl();
  TensorImpl& now = *next.impl();
  constexpr uint8_t kTaken = gate::kRequiresGrad | gate::kTangent;
  now.flags |= before.flags & kTaken;
  now.output_index = before.output_index;
  if (before.producer != nullptr) before.producer->retain();
  now.producer = before.producer;
  std::swap(now.meta, before.meta);
  try {
    set_data(next, data);
  } catch (...) {
    std::swap(now.meta, before.meta);
    throw;
  }
  before.flags &= static_cast<uint8_t>(~gate::kTangent);
  return next;
}

}  // namespace ebb
