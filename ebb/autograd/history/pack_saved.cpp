// ebb/autograd/history/pack_saved.cpp -- shows what a node saved to this thread's hooks.
#include "ebb/autograd/history/pack_saved.h"

#include <memory>
#include <utility>

#include "ebb/autograd/history/node_block.h"
#include "ebb/autograd/history/saved_hooks.h"
#include "ebb/autograd/history/saved_tensor.h"

namespace ebb::autograd {
namespace {

/// Packs what it is shown.
class Packer final : public SavedVisitor {
 public:
  Packer(Node& node, std::shared_ptr<const HookFrame> frame)
      : node_(node), frame_(std::move(frame)) {}
  void visit(const char* name, SavedTensor& saved) override {
    saved.pack(frame_, node_, name);
    // Hooks may call Python, and ask which run they are in (checkpoint_frame.h).
    if (saved.is_packed()) mark_for_caller_thread(node_);
  }

 private:
  Node& node_;
  std::shared_ptr<const HookFrame> frame_;
};

}  // namespace

void pack_saved(Node& node) {
  Packer packer(node, current_saved_hooks());
  node.visit_saved(packer);
}

void pack_saved_of(const Tensor& out) {
  if (!out.defined() || (out.impl()->flags & TensorImpl::kLeaf) != 0) return;
  if (out.impl()->producer != nullptr) pack_saved(*static_cast<Node*>(out.impl()->producer));
}

}  // namespace ebb::autograd
