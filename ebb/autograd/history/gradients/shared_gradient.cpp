// ebb/autograd/history/gradients/shared_gradient.cpp -- remembers leaves that were given a gradient
// others have.
#include "ebb/autograd/history/gradients/shared_gradient.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <vector>

#include "ebb/autograd/history/meta.h"

namespace ebb::autograd {
namespace {

using Leaf = NodePtr<AccumulateGrad>;

/// Leaves that were given a gradient which something in C++ already held.
struct Suspects {
  std::mutex mutex;
  std::vector<Leaf> leaves;
  size_t next_look = 64;  // at so many, those that share no more are dropped
};
Suspects& suspects() {
  static auto* const instance = new Suspects();  // never destroyed: leaves may outlive statics
  return *instance;
}
std::atomic<size_t> suspect_count{0};

/// What must die outside of the mutex: hooks and gradients may have to wait for Python's lock.
struct Dropped {
  std::vector<Leaf> leaves;
  std::vector<Tensor> grads;
};

/// Call under the mutex. Takes out the leaves that share nothing any more.
void drop_innocent(Suspects& all, Dropped& dropped) {
  const auto innocent = std::partition(all.leaves.begin(), all.leaves.end(), [&](Leaf& leaf) {
    const Tensor& grad = dropped.grads.emplace_back(leaf->grad());
    return grad.defined() && grad.impl()->refs.value() > 2;  // the leaf's count and this one
  });
  std::move(innocent, all.leaves.end(), std::back_inserter(dropped.leaves));
  all.leaves.erase(innocent, all.leaves.end());
  all.next_look = std::max(2 * all.leaves.size(), size_t{64});
  suspect_count.store(all.leaves.size(), std::memory_order_relaxed);
}

}  // namespace

void note_shared_gradient(const Tensor& leaf) {
  auto* const node = static_cast<AccumulateGrad*>(leaf.impl()->producer);
  Suspects& all = suspects();
  Dropped dropped;
  const std::lock_guard lock(all.mutex);
  const bool is_known = std::any_of(all.leaves.begin(), all.leaves.end(),
                                    [&](const Leaf& one) { return one.get() == node; });
  if (is_known) return;
  if (all.leaves.size() >= all.next_look) drop_innocent(all, dropped);
  all.leaves.push_back(Leaf::share(node));
  suspect_count.store(all.leaves.size(), std::memory_order_relaxed);
}

bool any_gradient_is_shared() {
  if (suspect_count.load(std::memory_order_relaxed) == 0) return false;
  Suspects& all = suspects();
  Dropped dropped;
  const std::lock_guard lock(all.mutex);
  drop_innocent(all, dropped);
  return !all.leaves.empty();
}

}  // namespace ebb::autograd
