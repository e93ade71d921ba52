// ebb/autograd/history/names/unusable.cpp -- see unusable.h.
#include "ebb/autograd/history/names/unusable.h"

#include <atomic>

namespace ebb::autograd {
namespace {

std::atomic<uint64_t> unusable{0};

}  // namespace

void note_unusable(const Node& node) noexcept {
  unusable.store(node.sequence(), std::memory_order_relaxed);
}

uint64_t take_unusable() noexcept { return unusable.exchange(0, std::memory_order_relaxed); }

}  // namespace ebb::autograd
