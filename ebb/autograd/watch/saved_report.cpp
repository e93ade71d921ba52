// ebb/autograd/watch/saved_report.cpp -- counts what nodes keep alive.
#include "ebb/autograd/watch/saved_report.h"

#include <unordered_set>

#include "ebb/autograd/history/packed_value.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/core/tensor/sparse.h"

namespace ebb::autograd {
namespace {

/// A saved value, held while it is looked at outside the node's lock.
struct Held {
  const char* name;
  Tensor value;  // or the husk of a packed one
  uint32_t version;
  bool is_packed;

  const PackedValue& packed() const { return PackedValue::behind(*value.impl()); }
};

class Collector final : public SavedVisitor {
 public:
  void visit(const char* name, SavedTensor& saved) override {
    if (!saved.defined()) return;
    held.push_back({name, Tensor::share(const_cast<TensorImpl*>(saved.impl())), saved.version(),
                    saved.is_packed()});
  }
  std::vector<Held> held;
};

std::vector<Held> collect(Node& node) {
  Collector collector;
  const SavedLock lock(node);
  node.visit_saved(collector);
  return std::move(collector.held);
}

std::vector<Tensor> tensors_of(const Held& held) {
  return held.is_packed ? held.packed().kept() : std::vector<Tensor>{held.value};
}

uint64_t identity_of(const Storage* storage) { return reinterpret_cast<uintptr_t>(storage); }

SavedInfo describe(const Held& held) {
  SavedInfo info = {.name = held.name,
                    .shape = held.value.shape(),
                    .dtype = held.value.dtype(),
                    .device = held.value.device(),
                    .version = held.version,
                    .storage = identity_of(held.value.impl()->storage),
                    .is_packed = held.is_packed};
  for (const Tensor& tensor : tensors_of(held)) info.bytes += stored_bytes(tensor);
  if (held.is_packed) {
    info.version = held.packed().version();
    info.storage = identity_of(held.packed().storage());
  }
  return info;
}

/// Adds up memory, each storage once.
class Sum {
 public:
  void add(Node& node) {
    for (const Held& held : collect(node)) {
      for (const Tensor& tensor : tensors_of(held)) {
        const Storage* const storage = tensor.impl()->storage;
        if (seen_.insert(storage).second) bytes_ += storage->bytes();
      }
    }
  }
  size_t bytes() const { return bytes_; }

 private:
  std::unordered_set<const Storage*> seen_;
  size_t bytes_ = 0;
};

}  // namespace

std::vector<SavedInfo> list_saved(Node& node) {
  std::vector<SavedInfo> infos;
  for (const Held& held : collect(node)) infos.push_back(describe(held));
  return infos;
}

size_t saved_bytes(Node& node) {
  Sum sum;
  sum.add(node);
  return sum.bytes();
}

size_t saved_bytes(std::span<Node* const> roots) {
  std::vector<Node*> waiting;
  std::unordered_set<const Node*> seen;
  const auto reach = [&](Node* node) {
    if (node != nullptr && seen.insert(node).second) waiting.push_back(node);
  };
  for (Node* const root : roots) reach(root);
  Sum sum;
  while (!waiting.empty()) {
    Node& node = *waiting.back();
    waiting.pop_back();
    sum.add(node);
    for (const Edge& edge : node.edges()) reach(edge.node);
  }
  return sum.bytes();
}

size_t saved_bytes(std::span<const Tensor> roots) {
  std::vector<Node*> nodes;
  for (const Tensor& root : roots) {
    if (root.requires_grad()) nodes.push_back(static_cast<Node*>(root.impl()->producer));
  }
  return saved_bytes(nodes);
}

}  // namespace ebb::autograd
