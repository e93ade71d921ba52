// ebb/autograd/engine/undo.h -- gradients that a run adds before its end, to be taken back if it
// fails.
//
// Leaves are added to after the last node (run.cpp), but where a hook is to see the new gradient,
// or a tensor that is no leaf keeps its own, it is there at once. What was there before is noted:
// nothing, a tensor that another one replaced, or a copy of one that was added to in place. The
// tensor's gradient is put back if it is still what the run (and its hooks) left there.
#pragma once

#include <vector>

#include "ebb/autograd/history/meta.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Of one run, on its caller's thread.
class Undo {
 public:
  /// meta.accumulate(grad), noted. `node`: the leaf, or the one of whose outputs this is the
  /// tensor.
  bool add(Node& node, AutogradMeta& meta, Tensor grad);
  /// The hooks of the last addition have returned: what they left is that of the run.
  void settle();
  /// Puts back what was there before, the last first, and calls `see(leaf)` with each leaf that has
  /// its own gradient again.
  template <typename See>
  void take_back(See&& see) noexcept {
    for (; !entries_.empty(); entries_.pop_back()) {
      if (restores(entries_.back())) see(*entries_.back().node);
    }
  }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Node* node;
    AutogradMeta* meta;
    Tensor before = {};
    Tensor copy = {};        // of the numbers in `before`, if these were added to
    Tensor after = {};       // undefined: nothing was added
    uint32_t version = 0;    // of `after`
    bool is_settled = true;  // else its hooks run, and may write
  };
  static bool restores(const Entry& entry) noexcept;

  std::vector<Entry> entries_;
};

}  // namespace ebb::autograd
