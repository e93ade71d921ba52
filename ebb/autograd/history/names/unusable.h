// ebb/autograd/history/names/unusable.h -- the node that an error is about, for who adds to it.
//
// What a node saved may be gone, or written to, because a tensor was carried from one step of a
// program to the next with its history. A front end knows who holds such tensors (reach.h).
#pragma once

#include <cstdint>

#include "ebb/autograd/history/node.h"

namespace ebb::autograd {

/// Notes that an error is about to be thrown of what this node saved.
void note_unusable(const Node& node) noexcept;
/// The number of the node noted last by any thread, once; 0 if there is none.
EBB_API uint64_t take_unusable() noexcept;

}  // namespace ebb::autograd
