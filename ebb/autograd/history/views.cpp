// ebb/autograd/history/views.cpp -- histories of views made anew, and the two nodes that they
// consist of.
#include "ebb/autograd/history/views.h"

#include <array>
#include <mutex>
#include <string>
#include <utility>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/history/node_block.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/autograd/history/region.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

/// A view whose history was made anew: a region of its base.
class AsStridedBackward final : public Node {
 public:
  const char* name() const override { return "AsStridedBackward"; }
  NodeKind kind() const override { return NodeKind::write; }
  void apply(Tensor* grad_outs, Tensor* grad_inputs, NodeRun& run) override {
    if (run.wants(0)) grad_inputs[0] = Region(region.get()).scattered(grad_outs[0]);
  }
  SavedShape region;
};

/// A base, a view of which was written.
class WriteToViewBackward final : public Node {
 public:
  const char* name() const override { return "WriteToViewBackward"; }
  NodeKind kind() const override { return NodeKind::write; }
  void apply(Tensor* grad_outs, Tensor* grad_inputs, NodeRun& run) override;

  static constexpr size_t kBefore = 0;   // what the base was
  static constexpr size_t kWritten = 1;  // what the view became
  SavedShape region;
};

void WriteToViewBackward::apply(Tensor* grad_outs, Tensor* grad_inputs, NodeRun& run) {
  const Region written(region.get());
  const Tensor grad = std::move(grad_outs[0]);
  // A loop that fills a tensor part by part then costs each part once, not the tensor each time.
  const bool has_tangent = (grad.gate_bits() & gate::kTangent) != 0;  // to be cleared as well
  const bool in_place = run.wants(kBefore) && written.is_plain() && grad.is_contiguous() &&
                        !is_grad_enabled() && !has_tangent && is_private(grad);
  if (run.wants(kWritten)) {
    const Tensor part = written.read(grad);
    grad_inputs[kWritten] = in_place ? clone(part) : part;
  }
  if (in_place) written.clear_in_place(grad);
  if (run.wants(kBefore)) grad_inputs[kBefore] = in_place ? grad : written.cleared(grad);
}

/// Few locks for all views: settling is rare and short.
std::mutex& mutex_of(const TensorImpl& view) {
  static std::array<std::mutex, 64> mutexes;
  return mutexes[(reinterpret_cast<uintptr_t>(&view) >> 7) % mutexes.size()];
}

Producer* made_from(const TensorImpl& view) {
  return __atomic_load_n(&view.view().made_from, __ATOMIC_ACQUIRE);
}

enum class Follows { still, anew, no_more };

/// Whether the history of a view is still what its base says.
Follows compare(const TensorImpl& view, const TensorImpl& base) {
  const uint32_t kind = view.flag_bits() & (TensorImpl::kLeaf | gate::kRequiresGrad);
  const bool is_variable = kind == (TensorImpl::kLeaf | gate::kRequiresGrad);
  if (is_variable || made_from(view) == base.producer) return Follows::still;
  if (base.producer == nullptr) {
    // detach_() leaves views their history, until the next write says that they changed.
    const uint32_t then = __atomic_load_n(&view.view().version, __ATOMIC_RELAXED);
    const bool is_written = view.storage->version() != then;
    return is_written ? Follows::no_more : Follows::still;
  }
  // The view of a tensor that became a leaf later shows values, no variable.
  return (base.flags & TensorImpl::kLeaf) != 0 ? Follows::still : Follows::anew;
}

const char* describe_creation(const TensorImpl& view) {
  switch (static_cast<Creation>(view.view().creation)) {
    case Creation::no_grad: return "a view made under no_grad";
    case Creation::inference: return "a view made in inference mode";
    case Creation::custom_function: return "a view returned by a custom Function";
    case Creation::normal: break;
  }
  return "a view";
}

/// The line that made a view: of its op, or as noted.
LocationId made_at(const TensorImpl& view) {
  if (view.producer != nullptr && (view.flag_bits() & TensorImpl::kLeaf) == 0) {
    return static_cast<const Node*>(view.producer)->location();
  }
  const LocationId origin = view.producer == nullptr ? place_of(view.output_index) : 0;
  return view.view().made_at != 0 ? view.view().made_at : origin;
}

/// Such a view may not follow a write to its base. A view without history that had none to begin
/// with is the only case of no_grad that can be told; the others stay what no_grad made them.
void check_may_follow(const TensorImpl& view, const TensorImpl& base) {
  const auto creation = static_cast<Creation>(view.view().creation);
  const bool is_plain_value = creation != Creation::custom_function && made_from(view) != nullptr;
  const bool may_record = is_grad_enabled() && !is_inference_mode_enabled();
  if (creation == Creation::normal || is_plain_value || !may_record) return;
  throw AutogradError(
      str("autograd: the memory of ", describe_creation(view), " at ", line_of(made_at(view)),
          " must not be written with a gradient before the view is used, got a write at ",
          line_of(static_cast<const Node*>(base.producer)->location()),
          "\nhint: make the view after that write, or use detach() on it"));
}

NodePtr<Node> make_view_node(const TensorImpl& base, const TensorImpl& view) {
  auto node = make_node<AsStridedBackward>(1, 1, view.ndim);
  auto* const producer = static_cast<Node*>(base.producer);
  producer->retain();
  node->edges()[0] = {producer, base.output_index, 0};
  node->region.save(packed_region(base, view));
  const LocationId line = made_at(view);
  NodeAccess::describe_output(*node, 0, view);
  NodeAccess::number(*node, producer->sequence(), line != 0 ? line : producer->location());
  return NodePtr<Node>(node.leak());
}

/// A view that was a leaf and follows its base again keeps its gradient, not its accumulator.
void become_result(TensorImpl& view) {
  if ((view.flags & TensorImpl::kLeaf) == 0) return;
  auto* const accumulator = static_cast<AutogradMeta*>(std::exchange(view.meta, nullptr));
  __atomic_store_n(&view.flags, static_cast<uint8_t>(view.flags & ~TensorImpl::kLeaf),
                   __ATOMIC_RELAXED);
  const Tensor self = Tensor::share(&view);
  if (Tensor grad = accumulator->grad(); grad.defined()) {
    ensure_meta(self).set_grad(std::move(grad));
  }
  if (accumulator->tangents.first() != nullptr) {
    ensure_meta(self).tangents.take_over(accumulator->tangents);
  }
  if (!accumulator->names().title().empty()) ensure_meta(self).take_names(*accumulator);
  accumulator->owner_died();
}

/// Call under the view's mutex; what is read without it comes last. Returns the history before,
/// which must die outside: its Python objects may have to wait for Python's lock, whose holder may
/// be waiting for the mutex.
Producer* set_view_history(TensorImpl& view, const TensorImpl& base, NodePtr<Node> node) {
  const bool has_history = static_cast<bool>(node);
  become_result(view);
  if (view.meta != nullptr) {
    auto* const meta = static_cast<RetainedMeta*>(view.meta);
    if (has_history) meta->follow(*node, 0);
  }
  Producer* const before = view.producer;
  __atomic_store_n(&view.producer, node.leak(), __ATOMIC_RELAXED);
  __atomic_store_n(&view.output_index, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&view.view().version, view.storage->version(), __ATOMIC_RELAXED);
  const uint32_t others = view.flags & ~(gate::kRequiresGrad | gate::kUnsettled);
  const uint32_t flags = others | (has_history ? gate::kRequiresGrad : gate::kUnsettled);
  __atomic_store_n(&view.flags, static_cast<uint8_t>(flags), __ATOMIC_RELAXED);
  __atomic_store_n(&view.view().made_from, base.producer, __ATOMIC_RELEASE);
  return before;
}

}  // namespace

bool settle_view(TensorImpl& view) {
  const TensorImpl* const base = view.base();
  if (base == nullptr) return (view.flag_bits() & gate::kRequiresGrad) != 0;
  if ((base->flags & gate::kTangent) != 0) [[unlikely]]
    adopt_tangents(view);
  const Follows first = compare(view, *base);
  if (first == Follows::still) {
    return (view.flag_bits() & gate::kRequiresGrad) != 0;
  }
  if (first == Follows::anew) check_may_follow(view, *base);
  if (view.view().creation != 0) return (view.flag_bits() & gate::kRequiresGrad) != 0;
  Producer* before = nullptr;
  {
    const std::lock_guard lock(mutex_of(view));
    const Follows now = compare(view, *base);
    if (now == Follows::anew) before = set_view_history(view, *base, make_view_node(*base, view));
    if (now == Follows::no_more) before = set_view_history(view, *base, {});
  }
  if (before != nullptr) before->release();
  return (view.flag_bits() & gate::kRequiresGrad) != 0;
}

NodePtr<Node> make_write_node(NodePtr<Node> written, const TensorImpl& base, const TensorImpl& view,
                              LocationId location) {
  auto node = make_node<WriteToViewBackward>(2, 1, base.ndim);
  const bool has_history =
      (base.flags & gate::kRequiresGrad) != 0 && (base.flags & TensorImpl::kLeaf) == 0;
  if (has_history) {
    auto* const before = static_cast<Node*>(base.producer);
    before->retain();
    node->edges()[WriteToViewBackward::kBefore] = {before, base.output_index, 0};
  }
  node->region.save(packed_region(base, view));
  NodeAccess::describe_output(*node, 0, base);
  // A node of a constant (fill_) leads nowhere.
  uint64_t above = has_history ? static_cast<Node*>(base.producer)->sequence() : 0;
  above = std::max(above, written->sequence());
  bool leads_on = false;
  for (const Edge& edge : written->edges()) leads_on = leads_on || edge.node != nullptr;
  if (leads_on) node->edges()[WriteToViewBackward::kWritten] = {written.leak(), 0, 0};
  NodeAccess::number(*node, above, location);
  return NodePtr<Node>(node.leak());
}

void check_view_write(const char* op, const Tensor& self) {
  const TensorImpl& view = *self.impl();
  const TensorImpl* const base = view.base();
  if (base == nullptr) return;
  const auto refuse = [&](const char* needs, const std::string& got, const char* hint) {
    throw AutogradError(str(op, ": ", needs, ", got ", got, ", made at ", line_of(made_at(view)),
                            " and written at ", line_of(thread_state.location), "\nhint: ", hint));
  };
  const bool base_is_leaf =
      (base->flags & TensorImpl::kLeaf) != 0 && (base->flags & gate::kRequiresGrad) != 0;
  if (base_is_leaf) {
    refuse("a leaf that requires a gradient must not be written in place",
           str("a view of one, ", describe_tensor(view), " of ", PrintShape{base->shape()}),
           "write it under no_grad, or write a view of a clone()");
  }
  if (view.view().creation != 0) {
    refuse("a write with a gradient needs a view that ordinary ops made in grad mode",
           str(describe_creation(view), ", ", describe_tensor(view)),
           "make the view where you write it, or write a clone()");
  }
  if (may_overlap_itself(view.shape(), {view.strides(), view.ndim})) {
    refuse("a write with a gradient needs elements that share no memory",
           str("a view of strides ", PrintShape{{view.strides(), view.ndim}}, " and ",
               PrintShape{view.shape()}, naming_of(view)),
           "write a clone()");
  }
}

void note_made_at(const Tensor& view, LocationId location) {
  view.impl()->view().made_at = location & 0x3fffffffu;
}

void mark_creation(const Tensor& view, Creation creation) {
  if ((view.impl()->flags & TensorImpl::kView) != 0) {
    view.impl()->view().creation = static_cast<uint32_t>(creation) & 3u;
  }
}

Tensor base_of(const Tensor& tensor) {
  return tensor.impl() == nullptr ? Tensor() : Tensor::share(tensor.impl()->base());
}

}  // namespace ebb::autograd
