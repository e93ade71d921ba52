// ebb/autograd/history/casts/remade_cast.cpp -- saved casts are packed as what they were made of.
#include "ebb/autograd/history/casts/remade_cast.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ebb/autograd/history/names/stale.h"
#include "ebb/autograd/history/packed_value.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/autograd/ops/amp_cast.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

/// Packs a cast as its source.
class RemadeCast final : public OwnHooks {
 public:
  RemadeCast(const Tensor& source, DType dtype)
      : source_(detached(source)), version_(source.version()), dtype_(dtype) {}

  std::any pack(const Tensor& /*cast*/) override { return source_; }
  Tensor unpack(const std::any& /*packed*/) override {
    if (!is_stale(*source_.impl(), version_)) return ebb::amp_cast(source_, dtype_);
    throw AutogradError(str("autocast: backward casts ", source_.dtype(), " ",
                            PrintShape{source_.sizes()}, " to ", dtype_,
                            " again and needs it as forward saw it, got it written to in place",
                            "\nhint: autocast(cache_enabled=False) keeps the casts of weights"));
  }

 private:
  Tensor source_;
  uint32_t version_;
  DType dtype_;
};

/// Looks for memory among what a node saved.
class MemorySearch final : public SavedVisitor {
 public:
  explicit MemorySearch(const Storage* memory) : memory_(memory) {}
  void visit(const char* /*name*/, SavedTensor& saved) override {
    is_found |= saved.defined() && !saved.is_packed() && saved.impl()->storage == memory_;
  }
  bool is_found = false;

 private:
  const Storage* memory_;
};

/// Packs all that a node saved of one cast.
class CastPacker final : public SavedVisitor {
 public:
  CastPacker(Node& node, const Tensor& cast, const Tensor& source)
      : node_(node), cast_(cast), source_(source) {}
  void visit(const char* name, SavedTensor& saved) override {
    if (saved.impl() != cast_.impl()) return;
    if (frame_ == nullptr) {
      auto hooks = std::make_shared<RemadeCast>(source_, cast_.dtype());
      frame_ = std::make_shared<const HookFrame>(HookFrame{std::move(hooks), nullptr});
    }
    saved.pack(frame_, node_, name);
  }

 private:
  Node& node_;
  const Tensor& cast_;
  const Tensor& source_;
  std::shared_ptr<const HookFrame> frame_;
};

Node* producer_of(const Tensor& tensor) {
  const bool has_node = tensor.defined() && (tensor.impl()->flags & TensorImpl::kLeaf) == 0;
  return has_node ? static_cast<Node*>(tensor.impl()->producer) : nullptr;
}

}  // namespace

bool is_kept_by_producer(const Tensor& source) {
  Node* const node = source.requires_grad() ? producer_of(source) : nullptr;
  if (node == nullptr) return false;
  MemorySearch search(source.impl()->storage);
  const SavedLock lock(*node);
  node->visit_saved(search);
  return search.is_found;
}

void keep_source(const Tensor& out, const Tensor& cast, const Tensor& source) {
  Node* const node = out.requires_grad() ? producer_of(out) : nullptr;
  if (node == nullptr) return;
  CastPacker packer(*node, cast, source);
  node->visit_saved(packer);
}

}  // namespace ebb::autograd
