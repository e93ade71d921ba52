// ebb/autograd/history/gradients/gradient_math.cpp -- gradient arithmetic on top of the ops.
#include "ebb/autograd/history/gradients/gradient_math.h"

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/tables/add.h"
#include "ebb/ops/fallback.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/view_of.h"

namespace ebb::autograd {
namespace {

/// Whether `shape` broadcasts to `sizes`.
bool broadcasts_to(IntSpan shape, IntSpan sizes) {
  if (shape.size() > sizes.size()) return false;
  for (size_t back = 1; back <= shape.size(); ++back) {
    const int64_t size = shape[shape.size() - back];
    if (size != 1 && size != sizes[sizes.size() - back]) return false;
  }
  return true;
}

/// Sums the dims along which `shape` was stretched to the gradient's, undoing a broadcast.
Tensor sum_to_shape(const Tensor& grad, IntSpan shape) {
  Shape stretched;
  const int lead = grad.ndim() - static_cast<int>(shape.size());
  for (int dim = 0; dim < grad.ndim(); ++dim) {
    const bool is_prepended = dim < lead;
    if (is_prepended ||
        shape[static_cast<size_t>(dim - lead)] != grad.sizes()[static_cast<size_t>(dim)]) {
      stretched.push_back(dim);
    }
  }
  return reshape(sum(grad, IntSpan(stretched), true), shape);
}

}  // namespace

namespace {

/// A sparse gradient nobody else can see is kept as it is too; if its values are somebody's memory,
/// they are copied.
[[gnu::noinline]] Tensor owned_copy(const Tensor& grad, bool is_private_object) {
  const bool may_keep = is_private_object && has_parts(grad) &&
                        parts_of("backward", grad).values.impl()->refs.is_unique() &&
                        parts_of("backward", grad).values.impl()->storage->is_unique();
  return may_keep ? grad : clone(grad);
}

}  // namespace

bool is_private(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (!impl.refs.is_unique()) return false;
  if (impl.storage->is_unique()) return true;
  // A view whose base nobody else knows.
  const TensorImpl* const base = impl.base();
  return base != nullptr && base->refs.is_unique() && impl.storage->owners() == 2;
}

Tensor owned_gradient(Tensor grad) {
  const bool is_own = is_private(grad);
  if (!is_own || !grad.is_contiguous()) return owned_copy(grad, is_own);
  grad.impl()->cut_from_base();
  return grad;
}

Tensor sum_of(const Tensor& lhs, const Tensor& rhs) { return add(lhs, rhs); }

namespace {

void add_on_host(const Tensor& lhs, const Tensor& rhs) {
  const kernels::TensorView out = ops::view_of(lhs);
  const auto kernel = kernels::add_kernels.find_cpu(out.dtype);
  kernel(ops::context_of(lhs), out, ops::view_of(rhs), out);
}

/// The same on a device. What was queued on another stream may still read the memory of `lhs`.
[[gnu::noinline]] Tensor add_elsewhere(Tensor lhs, const Tensor& rhs) {
  if (!is_used_here_only(lhs)) return add(lhs, rhs);
  ops::add_(lhs, rhs);
  return lhs;
}

}  // namespace

void add_into(const Tensor& lhs, const Tensor& rhs) {
  if (ops::is_elsewhere(lhs)) {
    ops::add_(lhs, rhs);
  } else {
    add_on_host(lhs, rhs);
  }
}

Tensor add_gradients(Tensor lhs, const Tensor& rhs) {
  constexpr uint32_t kNotInMemory = gate::kTangent | gate::kNotStrided;
  const bool is_more = ((lhs.gate_bits() | rhs.gate_bits()) & kNotInMemory) != 0;
  const bool is_reusable = !is_grad_enabled() && !is_more && is_private(lhs) && lhs.is_contiguous();
  if (!is_reusable) return add(lhs, rhs);
  if (ops::is_elsewhere(lhs)) return add_elsewhere(std::move(lhs), rhs);
  add_on_host(lhs, rhs);
  return lhs;
}

namespace {

/// What the tensor is called that edge `input` of `node` sends its gradient to.
std::string naming_of_input(const Node& node, size_t input, const OutputMeta& meta) {
  if (input >= node.edge_count()) return {};
  const Edge& edge = node.edges()[input];
  const bool leads_there = edge.node != nullptr && &edge.node->output_meta(edge.index) == &meta;
  return leads_there ? naming_of(edge) : std::string();
}

}  // namespace

void make_conform(Tensor& grad, const OutputMeta& meta, const Node& node, size_t input) {
  if (!broadcasts_to(meta.shape(), grad.sizes())) {
    throw ShapeError(str(title_of(node), ": the gradient of input ", input,
                         naming_of_input(node, input, meta), " must have shape ",
                         PrintShape{meta.shape()}, ", got ", PrintShape{grad.sizes()}));
  }
  // Summing first keeps the wider type for as long as there is something to lose.
  if (!equal(grad.sizes(), meta.shape())) grad = sum_to_shape(grad, meta.shape());
  if (grad.dtype() != meta.dtype) grad = cast(grad, meta.dtype);
  const Device device = revealed(meta.device);
  if (grad.device() == device) return;
  if (meta.ndim != 0) {
    throw ValueError(str(title_of(node), ": the gradient of input ", input, " must be on ",
                         to_string(device), ", got ", to_string(grad.device())));
  }
  grad = to_device(grad, device);
}

bool conforms_in_any_layout(const Tensor& grad, const OutputMeta& meta) {
  return grad.dtype() == meta.dtype && grad.device() == revealed(meta.device) &&
         equal(grad.sizes(), meta.shape());
}

Tensor zeros_for(const OutputMeta& meta) {
  return zeros(meta.shape(), meta.dtype, revealed(meta.device));
}

// Most calls of backward() make one: with a single element there is nothing to multiply or check.
Tensor one_for(const OutputMeta& meta) {
  if (!is_on_host(meta.device)) return ones(meta.shape(), meta.dtype, revealed(meta.device));
  Storage* const storage = Storage::allocate(item_size(meta.dtype), meta.device);
  TensorImpl* const impl = TensorImpl::create(meta.ndim, meta.dtype, storage, storage->data());
  impl->numel = 1;
  impl->flags |= TensorImpl::kContiguous;
  for (int dim = 0; dim < meta.ndim; ++dim) impl->sizes()[dim] = impl->strides()[dim] = 1;
  Tensor one = Tensor::adopt(impl);
  if (meta.dtype == DType::float32) [[likely]] {
    *static_cast<float*>(impl->data) = 1.0f;
  } else {
    Scalar(1.0).store_as(meta.dtype, impl->data, "backward");
  }
  return one;
}

Tensor cast_to(const Tensor& grad, DType dtype) { return cast(grad, dtype); }

}  // namespace ebb::autograd
