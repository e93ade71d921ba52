// ebb/autograd/watch/saved_report.h -- what nodes keep alive: names, sizes and bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// One saved tensor, described without holding any of it.
struct SavedInfo {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  Device device;
  size_t bytes = 0;        // of its elements; of what hooks keep instead, as far as they can tell
  uint32_t version = 0;    // when it was saved
  uint64_t storage = 0;    // equal for two that share memory; of a packed one: the original's
  bool is_packed = false;  // hooks keep something else instead
};

/// What the node saved and has not freed, in the order of its formulas.
EBB_API std::vector<SavedInfo> list_saved(Node& node);

/// Bytes of the memory that saved tensors of one node, or of all nodes behind `roots`, keep alive;
/// memory that several share counts once.
EBB_API size_t saved_bytes(Node& node);
EBB_API size_t saved_bytes(std::span<Node* const> roots);
EBB_API size_t saved_bytes(std::span<const Tensor> roots);

}  // namespace ebb::autograd
