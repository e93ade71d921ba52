// ebb/graph/layout/layers.cpp -- layers, the main flow, lanes: each a pass over boxes and links.
#include "ebb/graph/layout/layers.h"

namespace ebb::layout {
namespace {

constexpr int kFar = 1 << 20;  // what leaves or enters the frame leads farther than anything inside
constexpr int kMaxSpan = 8;    // longer links to a box without a lane are drawn across
constexpr int kFreeLanes = 4000;  // places for lanes that any level may have
constexpr int kLanes = 6;         // and how many more for each box and link

/// The link of a box whose other end has the largest value; -1 if two have.
int farthest(View<int> links, const Array<int>& ends, const Array<int>& value) {
  int best = -1;
  int largest = -1;
  for (const int link : links) {
    const int now = value[ends[link]];
    if (now > largest) {
      best = link;
      largest = now;
    } else if (now == largest) {
      best = -1;
    }
  }
  return best;
}

}  // namespace

Layered::Layered(const Level& all)
    : level(all),
      layer_of(all.count()),
      is_spine(all.low.size()),
      has_path(all.low.size()),
      lane(all.low.size()),
      lanes(all.low.size()),
      tail(all.low.size(), -1) {
  find_layers();
  drop_empty_layers();
  find_spine();
  make_lanes();
}

/// One below the lowest of those that lead to a box; what nothing leads to stays near its users.
void Layered::find_layers() {
  const int count = level.count();
  const Rows down = group_rows(level.low, count);
  Array<uint8_t> has_above(count);
  int base = 0;
  for (const Port port : level.port) base = port == Port::entry ? 1 : base;
  int last = base;
  for (int box = 0; box < count; ++box) {
    if (level.port[box] == Port::none) layer_of[box] = most(layer_of[box], base);
    for (const int link : down[box]) {
      const int below = level.high[link];
      has_above[below] = 1;
      layer_of[below] = most(layer_of[below], layer_of[box] + 1);
    }
    if (level.port[box] != Port::exit) last = most(last, layer_of[box]);
  }
  for (int box = count - 1; box >= 0; --box) {
    if (level.port[box] == Port::exit) layer_of[box] = last + 1;
    if (level.port[box] != Port::none || has_above[box] != 0 || down.count(box) == 0) continue;
    int nearest = INT32_MAX;
    for (const int link : down[box]) nearest = least(nearest, layer_of[level.high[link]]);
    layer_of[box] = most(base, nearest - 1);
  }
}

void Layered::drop_empty_layers() {
  int last = -1;
  for (const int layer : layer_of) last = most(last, layer);
  Array<int> used(last + 2);
  for (const int layer : layer_of) used[layer + 1] = 1;
  for (int layer = 0; layer <= last; ++layer) used[layer + 1] += used[layer];
  for (int& layer : layer_of) layer = used[layer];
  layers = used[last + 1];
}

/// The way on from a box that leads farthest, if it is also the way in that comes from farthest.
/// Parameters then stand beside the flow, not in it.
void Layered::find_spine() {
  const int count = level.count();
  Array<int> height(count);
  Array<int> depth(count);
  Array<int> main_down(count);
  Array<int> main_up(count);
  const Rows down = group_rows(level.low, count);
  const Rows up = group_rows(level.high, count);
  for (int box = count - 1; box >= 0; --box) {
    height[box] = level.port[box] == Port::exit ? kFar : 0;
    main_down[box] = farthest(down[box], level.high, height);
    for (const int link : down[box]) {
      height[box] = most(height[box], height[level.high[link]] + 1);
    }
  }
  for (int box = 0; box < count; ++box) {
    depth[box] = level.port[box] == Port::entry ? kFar : 0;
    main_up[box] = farthest(up[box], level.low, depth);
    for (const int link : up[box]) depth[box] = most(depth[box], depth[level.low[link]] + 1);
  }
  for (int link = 0; link < level.low.size(); ++link) {
    is_spine[link] = main_down[level.low[link]] == link && main_up[level.high[link]] == link;
  }
}

/// Which boxes get a lane: those with the shortest, while all places keep in proportion.
Array<uint8_t> Layered::choose_lanes() const {
  const int count = level.count();
  Array<int> span(count);
  for (int link = 0; link < level.high.size(); ++link) {
    const int box = level.high[link];
    span[box] = most(span[box], layer_of[box] - layer_of[level.low[link]]);
  }
  Array<uint8_t> has_lane(count);
  int left = kFreeLanes + kLanes * (count + level.low.size());
  for (const int box : group_rows(span, layers).items) {
    left -= span[box];
    if (left < 0) break;
    has_lane[box] = 1;
  }
  return has_lane;
}

void Layered::make_lanes() {
  const int links = level.low.size();
  const Array<uint8_t> has_lane = choose_lanes();
  Array<int> from_layer(links);
  for (int link = 0; link < links; ++link) from_layer[link] = layer_of[level.low[link]];
  // Into each box, those from far above first: the longest lane is the one that others join.
  const Rows from = group_rows(from_layer, layers);
  const Rows into = group_rows(level.high, level.count(), from.items);
  for (int box = 0; box < level.count(); ++box) {
    int owner = -1;
    for (const int link : into[box]) {
      const int span = layer_of[box] - from_layer[link];
      if (has_lane[box] == 0 && span > kMaxSpan) continue;
      has_path[link] = 1;
      if (span == 1) {
        add_piece(level.low[link], box, is_spine[link] != 0);
      } else if (owner >= 0) {
        join_lane(link, owner);
      } else {
        owner = link;
        make_lane(link);
      }
    }
  }
}

void Layered::make_lane(int link) {
  const bool is_main = is_spine[link] != 0;
  const int bottom = level.high[link];
  int above = level.low[link];
  lane[link] = count();
  lanes[link] = layer_of[bottom] - layer_of[above] - 1;
  for (int layer = layer_of[above] + 1; layer < layer_of[bottom]; ++layer) {
    layer_of.push(layer);
    add_piece(above, count() - 1, is_main);
    above = count() - 1;
  }
  add_piece(above, bottom, is_main);
}

void Layered::join_lane(int link, int owner) {
  const int top = level.low[link];
  const int at = lane[owner] + layer_of[top] - layer_of[level.low[owner]];
  lane[link] = at;
  lanes[link] = 1;
  tail[link] = owner;
  add_piece(top, at, false);
}

void Layered::add_piece(int above, int below, bool is_spine_link) {
  upper.push(above);
  lower.push(below);
  is_straight.push(is_spine_link || (is_lane(above) && is_lane(below)) ? 1 : 0);
}

}  // namespace ebb::layout
