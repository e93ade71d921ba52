// ebb/graph/layout/places.h -- what a layout finds, column by column.
#pragma once
#include "ebb/graph/layout/route.h"

namespace ebb::layout {

/// What a layout finds. Until it has finished, places are relative to the frame around.
struct Places {
  explicit Places(int items) : x(items), y(items), width(items), height(items), anchor(items) {}

  Array<double> x;  // of items: the upper left corner
  Array<double> y;
  Array<double> width;
  Array<double> height;
  Array<double> anchor;  // from the left side: what is lined up with others
  Array<double> port_x;  // of ports
  Links links;
  Array<int> point_start;  // points of a link: from the upper to the lower end, x and y in turn,
  Array<int> point_end;    // at points[2 * point_start[link]] to points[2 * point_end[link]]
  Array<double> points;
  Array<int> tail;           // of links: the one whose lane this one joins, or -1
  Array<uint8_t> is_upward;  // of links: it leads from its lower to its upper end
  Array<uint8_t> is_far;     // of links: drawn across what is between
};

}  // namespace ebb::layout
