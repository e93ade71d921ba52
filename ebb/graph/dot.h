// ebb/graph/dot.h -- a snapshot as a graph description for Graphviz.
//
// The look is that of torchviz: leaves are blue boxes, ops grey ones, results green, bases of views
// dark green with dotted edges, saved tensors orange.
#pragma once

#include <string>

#include "ebb/graph/snapshot.h"

namespace ebb::graph {

/// Where edges point: the way values went, or the way gradients go.
enum class Direction : uint8_t { forward, backward };

struct DotOptions {
  bool show_attributes = false;  // of ops, and the names and shapes of what they saved
  bool show_saved = false;       // saved tensors as boxes of their own
  bool show_shapes = false;      // what flows along edges
  size_t max_attribute_chars = 50;
  Direction direction = Direction::forward;
};

EBB_API std::string to_dot(const Snapshot& snapshot, const DotOptions& options = {});

}  // namespace ebb::graph
