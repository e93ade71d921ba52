// ebb/autograd/history/node_extra.h -- what few nodes have: hooks, outputs that keep their
// gradient, a Python face.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ebb/autograd/history/hook_table.h"
#include "ebb/autograd/history/node.h"

namespace ebb::autograd {

class AutogradMeta;

/// Made when first needed, freed with its node.
struct NodeExtra {
  ~NodeExtra() { hooks->clear(); }

  std::mutex mutex;  // guards `retained` and `names`
  /// Outputs (by index) whose tensors asked to keep their gradient. A tensor that dies takes its
  /// entry away, so the pointers are valid under the mutex.
  std::vector<std::pair<uint32_t, AutogradMeta*>> retained;
  /// Outputs that were given names, by index.
  std::vector<std::pair<uint32_t, std::string>> names;
  const std::shared_ptr<HookTable> hooks = std::make_shared<HookTable>();
  /// A Python object that lives as long as the node; guarded by Python's lock.
  void* py_object = nullptr;
};

/// The node's extra block, made if there is none.
EBB_API NodeExtra& ensure_extra(Node& node);

}  // namespace ebb::autograd
