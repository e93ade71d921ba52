// ebb/autograd/engine/undo.cpp -- see undo.h.
#include "ebb/autograd/engine/undo.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/copy_.h"

namespace ebb::autograd {
namespace {

/// Whether the meta is still there: that of a tensor that is no leaf dies with it.
bool is_there(const Node& node, const AutogradMeta* meta) {
  if (node.is_accumulator()) return true;
  NodeExtra& extra = *node.extra();
  const std::lock_guard lock(extra.mutex);
  return std::any_of(extra.retained.begin(), extra.retained.end(),
                     [&](const auto& entry) { return entry.second == meta; });
}

/// Of a gradient that is gone, as one is whose leaf died on another thread, there is none.
uint32_t version_of(const Tensor& grad) { return grad.defined() ? grad.version() : 0; }

/// Whether a gradient may be added to in place, so that its numbers have to be kept.
bool needs_copy(const Tensor& before) {
  return before.defined() && !is_grad_enabled() && (before.gate_bits() & gate::kNotStrided) == 0;
}

}  // namespace

bool Undo::add(Node& node, AutogradMeta& meta, Tensor grad) {
  Entry& entry = entries_.emplace_back(Entry{.node = &node, .meta = &meta});
  entry.before = meta.grad();
  if (needs_copy(entry.before)) entry.copy = clone(entry.before);
  const bool is_added = meta.accumulate(std::move(grad));
  if (!is_added) {
    entries_.pop_back();
    return false;
  }
  entry.after = meta.grad();
  if (!entry.after.is_same(entry.before)) entry.copy = {};
  entry.version = version_of(entry.after);
  entry.is_settled = !node.is_accumulator();
  return true;
}

void Undo::settle() {
  Entry& entry = entries_.back();
  entry.version = version_of(entry.after);
  entry.is_settled = true;
}

bool Undo::restores(const Entry& entry) noexcept {
  try {
    if (!entry.after.defined() || !is_there(*entry.node, entry.meta)) return false;
    if (!entry.meta->grad().is_same(entry.after)) return false;
    if (entry.is_settled && entry.after.version() != entry.version) return false;
    if (entry.copy.defined()) {
      const NoGradGuard guard;
      copy_(entry.before, entry.copy);
    } else {
      entry.meta->set_grad(entry.before);
    }
    return true;
  } catch (...) {
    return false;  // then the error names it
  }
}

}  // namespace ebb::autograd
