// ebb/autograd/custom/custom_node.cpp -- from what forward() returned and marked to a recorded
// node.
#include "ebb/autograd/custom/custom_node.h"

#include <algorithm>

#include "ebb/autograd/custom/same_tensor.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/op_support.h"
#include "ebb/autograd/watch/cut_trace.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

/// Ends every path through a value whose derivative is unknown.
class NotDifferentiable final : public Node {
 public:
  const char* name() const override { return "NotDifferentiable"; }
  void apply(Tensor* /*grad_outs*/, Tensor* /*grad_inputs*/, NodeRun& /*run*/) override {
    throw AutogradError(message);
  }
  std::string message;
};

/// Another look at an input that is returned as it is.
Tensor view_of_input(const Tensor& input) {
  return make_view(input, input.sizes(), input.strides(), input.storage_offset());
}

/// Notes a write that forward() may have made behind ebb's back.
void note_dirty(const Tensor& tensor, LocationId location) {
  tensor.impl()->storage->note_write("a custom function", location, region_of(*tensor.impl()));
}

/// A view of an input may not be written later: how it follows its base only forward() knows. A
/// view of what forward() made itself is to the caller a tensor of its own.
void mark_as_custom_view(const Tensor& out, std::span<const Tensor> inputs) {
  const bool shows_an_input = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
    return input.defined() && input.impl()->storage == out.impl()->storage;
  });
  if (shows_an_input) {
    mark_creation(out, Creation::custom_function);
  } else {
    out.impl()->cut_from_base();
  }
}

/// Makes output `index` of `node` the history of a tensor that has none.
void set_edge(Node& node, size_t index, const Tensor& out) {
  TensorImpl& impl = *out.impl();
  node.retain();
  impl.producer = &node;
  impl.output_index = static_cast<uint32_t>(index);
  impl.flags = recorded_flags(impl.flags);
}

}  // namespace

/// Notes which outputs have no history although inputs wanted a gradient.
static void trace_cuts(const CustomCall& call, LocationId location) {
  if (!is_tracing_cuts()) return;
  note_results({.op = call.name, .bits = thread_state.modes, .place = location}, call.outputs,
               call.inputs);
}

/// One call of connect().
class Connection {
 public:
  Connection(CustomNode& node, const CustomCall& call, LocationId location)
      : node_(node),
        call_(call),
        location_(location),
        returned_(call.outputs.begin(), call.outputs.end()) {}

  void make() {
    for (size_t index = 0; index < call_.inputs.size(); ++index) {
      above_ = std::max(above_, add_edge(node_, index, call_.inputs[index]));
    }
    for (size_t index = 0; index < call_.outputs.size(); ++index) describe(index);
    NodeAccess::number(node_, above_, location_);
    for (size_t index = 0; index < call_.outputs.size(); ++index) {
      if (call_.outputs[index].defined()) give_history(index);
    }
    save_all();
    trace_cuts(call_, location_);
  }

 private:
  void describe(size_t index) {
    const Tensor& out = call_.outputs[index];
    if (out.defined()) return NodeAccess::describe_output(node_, index, *out.impl());
    auto& meta = const_cast<OutputMeta&>(node_.output_meta(static_cast<uint32_t>(index)));
    meta = {.dtype = DType::float32,
            .ndim = 0,
            .device = {},
            .flags = 0,
            .context = current_op_context()};
  }

  static bool keeps_values(const Tensor& out) {
    const AutogradMeta* const meta = meta_of(out);
    return meta != nullptr && meta->keeps_values();
  }

  bool is_differentiable_output(const Tensor& out) const {
    return is_differentiable(out.dtype()) && !contains(call_.marks.non_differentiable, out);
  }

  void give_history(size_t index) {
    Tensor& out = call_.outputs[index];
    const Tensor returned = returned_[index];
    const bool is_input = contains(call_.inputs, returned);
    if (!is_differentiable_output(returned)) {
      if (is_input || returned.requires_grad()) out = detached(returned);
      return set_origin(out, make_origin(Cut::not_differentiable, location_));
    }
    const bool is_dirty = contains(call_.marks.dirty, returned);
    const int first = position_of(returned_, returned);
    const bool is_repeated = static_cast<size_t>(first) < index && (is_dirty || !is_input);
    if (is_repeated) {
      out = call_.outputs[static_cast<size_t>(first)];
    } else if (is_dirty) {
      rewrite(index, out);
    } else {
      if (is_input) {
        out = view_of_input(returned);
      } else if (out.impl()->producer != nullptr || keeps_values(out)) {
        out = detached(returned);  // it has a history or a gradient of its own, which stays
      }
      set_edge(node_, index, out);
      if (meta_of(out) != nullptr) note_name(node_, static_cast<uint32_t>(index), name_of(out));
      mark_as_custom_view(out, call_.inputs);
    }
  }

  /// The input `self` was written by forward().
  void rewrite(size_t index, const Tensor& self) {
    note_dirty(self, location_);
    leave_savers(node_, self);
    if (call_.outputs.size() == 1) {
      return rebase_history(NodePtr<Node>::share(&node_), above_, self, location_);
    }
    TensorImpl& impl = *self.impl();
    if ((impl.flags & TensorImpl::kLeaf) != 0) {
      // A leaf that requires no gradient any more, but once did: its accumulator goes.
      drop_meta(impl);
      impl.flags &= static_cast<uint8_t>(~TensorImpl::kLeaf);
    }
    if (impl.meta != nullptr) {
      auto* const meta = static_cast<RetainedMeta*>(impl.meta);
      meta->drop_twin();
      meta->follow(node_, static_cast<uint32_t>(index));
    }
    Producer* const before = std::exchange(impl.producer, nullptr);
    set_edge(node_, index, self);
    if (before != nullptr) before->release();
  }

  void save_all() {
    save_marked();
    mark_for_caller_thread(node_);  // users' code need not be ready for threads
  }

  void save_marked() {
    const std::vector<Tensor>& all = call_.marks.saved;
    if (all.empty()) return;
    node_.saved_ = std::make_unique<CustomSaved[]>(all.size());
    node_.saved_count_ = static_cast<uint32_t>(all.size());
    for (size_t index = 0; index < all.size(); ++index) {
      if (all[index].defined()) save(node_.saved_[index], all[index]);
    }
    mark_saved(node_);
    pack_if_hooked(node_);
  }

  void save(CustomSaved& saved, const Tensor& tensor) {
    settle(tensor);
    const int input = position_of(call_.inputs, tensor);
    const int output = position_of(call_.outputs, tensor);
    const bool is_own_output =
        output >= 0 && tensor.impl()->producer == static_cast<Producer*>(&node_);
    if (is_own_output) {
      saved.tensor.save_output(tensor, static_cast<size_t>(output));
    } else if (input >= 0) {
      saved.tensor.save_input(tensor, static_cast<size_t>(input));
    } else {
      saved.tensor.save_constant(tensor);
      if (tensor.requires_grad()) {
        auto* const producer = static_cast<Node*>(tensor.impl()->producer);
        producer->retain();
        saved.edge = {producer, tensor.impl()->output_index};
        saved.kind = CustomSaved::Kind::foreign;
      } else if (output < 0 && is_differentiable(tensor.dtype())) {
        saved.kind = CustomSaved::Kind::intermediate;
      }
    }
  }

  CustomNode& node_;
  const CustomCall& call_;
  const LocationId location_;
  const std::vector<Tensor> returned_;  // before any was exchanged
  uint64_t above_ = 0;
};

namespace {

// Names for messages about saved tensors.
constexpr const char* kNames[] = {"saved_tensors[0]", "saved_tensors[1]", "saved_tensors[2]",
                                  "saved_tensors[3]", "saved_tensors[4]", "saved_tensors[5]",
                                  "saved_tensors[6]", "saved_tensors[7]", "saved_tensors[8]"};
const char* name_of_saved(size_t index) {
  return index < std::size(kNames) ? kNames[index] : "saved_tensors[9 or above]";
}

}  // namespace

std::vector<Tensor> CustomNode::unpack_saved(bool releases) {
  if (is_released()) throw_released(*this);
  std::vector<Tensor> all(saved_count_);
  {
    SavedLock lock(*this);
    for (size_t index = 0; index < saved_count_; ++index) {
      all[index] = saved_[index].tensor.look(*this, name_of_saved(index), lock, releases);
    }
  }
  for (size_t index = 0; index < saved_count_; ++index) {
    const CustomSaved& saved = saved_[index];
    if (!all[index].defined() || saved.kind == CustomSaved::Kind::own) continue;
    if (saved.kind == CustomSaved::Kind::foreign) {
      all[index] = original_of(all[index], saved.edge);
    } else if (is_grad_enabled()) {
      all[index] = refuse_derivatives(
          *this, all[index],
          str(name_of_saved(index),
              " was computed inside forward() and has no recorded history, got a derivative "
              "through it asked for\nhint: compute it again in backward(), or return it as an "
              "output; pass it as an input if it depends on none"));
    }
  }
  return all;
}

Tensor CustomNode::gradient_from(Tensor result) {
  return result.requires_grad() && !is_grad_enabled() ? detached(result) : result;
}

Tensor CustomNode::zero_gradient(uint32_t output) const { return zeros_for(output_meta(output)); }

void CustomNode::release_saved() noexcept {
  for (size_t index = 0; index < saved_count_; ++index) saved_[index].tensor.reset();
}

void CustomNode::visit_saved(SavedVisitor& visitor) {
  for (size_t index = 0; index < saved_count_; ++index) {
    visitor.visit(name_of_saved(index), saved_[index].tensor);
  }
}

bool is_custom_recorded(std::span<const Tensor> inputs) {
  if ((thread_state.modes & (gate::kNoGrad | gate::kInference)) != 0) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Tensor& input) { return input.requires_grad(); });
}

void check_custom_marks(const CustomCall& call, bool is_recorded) {
  for (const Tensor& dirty : call.marks.dirty) {
    const auto shape = PrintShape{dirty.sizes()};
    if (!contains(call.inputs, dirty)) {
      throw AutogradError(str(call.name, ".mark_dirty: needs inputs of forward(), got a tensor ",
                              shape, " that is none"));
    }
    if (!contains(call.outputs, dirty)) {
      throw AutogradError(str(call.name, ": a tensor marked dirty must be returned by forward(), ",
                              "got the input ", shape, " that was not"));
    }
    if (!is_recorded) continue;
    if ((dirty.impl()->flags & TensorImpl::kView) != 0 && call.outputs.size() > 1) {
      throw AutogradError(str(call.name, ": a view can be marked dirty only if it is the one ",
                              "output, got ", call.outputs.size(), " outputs"));
    }
    check_inplace(call.name, dirty, true);
  }
}

void connect(NodePtr<CustomNode> node, const CustomCall& call, LocationId location) {
  Connection(*node, call, location).make();
}

void leave_unconnected(const CustomCall& call, LocationId location) {
  const bool is_cut = std::any_of(call.inputs.begin(), call.inputs.end(),
                                  [](const Tensor& input) { return input.requires_grad(); });
  for (const Tensor& dirty : call.marks.dirty) note_dirty(dirty, location);
  for (Tensor& out : call.outputs) {
    if (!out.defined() || contains(call.marks.dirty, out)) continue;
    if (contains(call.inputs, out)) out = view_of_input(out);
    if (is_cut) mark_cut(out, Cut::no_grad, location);
  }
  trace_cuts(call, location);
}

Tensor refuse_derivatives(Node& owner, const Tensor& value, const std::string& reason,
                          std::span<const Tensor> operands) {
  const size_t owned = owner.edge_count();
  auto node = make_node<NotDifferentiable>(owned + operands.size(), 1, value.ndim());
  node->message = str(owner.name(), ": ", reason, " (recorded at ", line_of(owner.location()), ")");
  uint64_t above = owner.sequence();
  for (size_t index = 0; index < owned; ++index) {
    const Edge& edge = owner.edges()[index];
    if (edge.node == nullptr) continue;
    edge.node->retain();
    node->edges()[index] = {edge.node, edge.index};
  }
  for (size_t index = 0; index < operands.size(); ++index) {
    above = std::max(above, add_edge(*node, owned + index, operands[index]));
  }
  Tensor out = detached(value);
  set_history(std::move(node), above, out, owner.location());
  return out;
}

}  // namespace ebb::autograd
