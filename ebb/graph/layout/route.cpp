// ebb/graph/layout/route.cpp -- pairs, ports and links by hashed keys; no edge is compared with
// another.
#include "ebb/graph/layout/route.h"

namespace ebb::layout {

Router::Router(const Input& input, Links& links)
    : input_(input),
      links_(links),
      depth_(input.parent.size),
      pair_of_(input.from.size, -1),
      top_(input.from.size),
      bottom_(input.from.size) {
  for (int item = 1; item < input.parent.size; ++item) {
    depth_[item] = depth_[input.parent[item]] + 1;
  }
  for (int edge = 0; edge < input.from.size; ++edge) match(edge);
  links_.edge_start.push(0);
  for (int edge = 0; edge < input.from.size; ++edge) {
    if (pair_of_[edge] >= 0) route(edge);
    links_.edge_start.push(links_.edge_links.size());
  }
}

/// Finds the pair of an edge, and whether all its edges have one source or target.
void Router::match(int edge) {
  const int from = input_.from[edge];
  const int to = input_.to[edge];
  if (from == to) return;  // a loop at one box is no line
  int top = from;
  int bottom = to;
  while (input_.parent[top] != input_.parent[bottom]) {
    const int above = depth_[top];
    const int below = depth_[bottom];
    if (above >= below) top = input_.parent[top];
    if (below >= above) bottom = input_.parent[bottom];
  }
  const uint64_t count = static_cast<uint64_t>(input_.parent.size);
  const int pair = pairs_.of(static_cast<uint64_t>(top) * count + static_cast<uint64_t>(bottom));
  pair_of_[edge] = pair;
  top_[edge] = top;
  bottom_[edge] = bottom;
  if (pair == pair_from_.size()) {
    pair_from_.push(from);
    pair_to_.push(to);
    // Against the common order, as in a loop through a frame: out at the top, in at the bottom.
    pair_is_upward_.push(input_.rank[top] > input_.rank[bottom] ? 1 : 0);
  } else {
    if (pair_from_[pair] != from) pair_from_[pair] = -1;
    if (pair_to_[pair] != to) pair_to_[pair] = -1;
  }
}

/// Cuts an edge into one link per level that it passes; equal links become one.
void Router::route(int edge) {
  const int top = top_[edge];
  const int bottom = bottom_[edge];
  const int pair = pair_of_[edge];
  for (int child = input_.from[edge]; child != top; child = input_.parent[child]) {
    add_link(input_.parent[child], child, ~add_port(child, pair, true), pair);
  }
  add_link(input_.parent[top], top, bottom, pair);
  for (int child = input_.to[edge]; child != bottom; child = input_.parent[child]) {
    add_link(input_.parent[child], ~add_port(child, pair, false), child, pair);
  }
}

/// Where a pair's edges go through the border of a frame.
uint64_t Router::port_key(int frame, int pair, bool is_source) const {
  const int single = is_source ? pair_from_[pair] : pair_to_[pair];
  const uint64_t count = static_cast<uint64_t>(input_.parent.size);
  const uint64_t end =
      single >= 0 ? static_cast<uint64_t>(single) : count + static_cast<uint64_t>(pair);
  const bool is_exit = is_source != (pair_is_upward_[pair] != 0);
  return (end * 4 + (is_exit ? 2 : 0) + (is_source ? 1 : 0)) * count + static_cast<uint64_t>(frame);
}

int Router::port_at(int frame, int pair, bool is_source) const {
  return ports_.find(port_key(frame, pair, is_source));
}

/// The port of a pair in the border of the frame around `child`.
int Router::add_port(int child, int pair, bool is_source) {
  const int frame = input_.parent[child];
  const int port = ports_.of(port_key(frame, pair, is_source));
  if (port == links_.port_level.size()) {
    links_.port_level.push(frame);
    links_.port_is_exit.push(is_source != (pair_is_upward_[pair] != 0) ? 1 : 0);
  }
  return port;
}

void Router::add_link(int level, int from, int to, int pair) {
  // A pair is linked once on its own level; elsewhere port and item say which link it is.
  const uint64_t count = static_cast<uint64_t>(input_.parent.size);
  uint64_t key = static_cast<uint64_t>(pair) * 2;
  if (from < 0 || to < 0) {
    const uint64_t port = static_cast<uint64_t>(from < 0 ? ~from : ~to);
    key = (port * count + static_cast<uint64_t>(from < 0 ? to : from)) * 2 + 1;
  }
  const int link = known_.of(key);
  if (link == links_.level.size()) {
    links_.level.push(level);
    links_.from.push(from);
    links_.to.push(to);
    links_.pair.push(pair);
  }
  links_.edge_links.push(link);
}

}  // namespace ebb::layout
