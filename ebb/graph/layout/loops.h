// ebb/graph/layout/loops.h -- stretches of a program that are repeated at once: steps of loops.
#pragma once
#include "ebb/core/base/export.h"
#include "ebb/graph/layout/array.h"

namespace ebb::layout {

/// A program: ops in forward order. Without `wire_start` equal ops are enough, else they have to be
/// joined equally, too.
struct Program {
  View<int> symbols = {};     // equal for equal ops
  View<int> wire_start = {};  // inputs of op k: rows wire_start[k] to wire_start[k + 1] of
  View<int> wire_input = {};  // which input it is, and
  View<int> wire_maker = {};  // the op that made it, -1 if none of these did
  int least_ops = 0;          // that a loop must have in all
};

/// Where each loop begins, how many ops a step has, how many steps there are: three numbers each.
EBB_API Array<int> find_loops(const Program& program);

}  // namespace ebb::layout
