// ebb/graph/layout/columns.h -- what a layout finds, column by column, under the names that Python
// and the page know.
#pragma once
#include "ebb/graph/layout/places.h"

namespace ebb::layout {

/// Calls visit(name, array) for each column.
template <typename Visit>
void each_column(const Places& places, Visit visit) {
  visit("x", places.x);
  visit("y", places.y);
  visit("w", places.width);
  visit("h", places.height);
  visit("linkLevel", places.links.level);
  visit("linkFrom", places.links.from);
  visit("linkTo", places.links.to);
  visit("linkPair", places.links.pair);
  visit("linkTail", places.tail);
  visit("isUpward", places.is_upward);
  visit("isFar", places.is_far);
  visit("edgeLinks", places.links.edge_start);
  visit("linkList", places.links.edge_links);
  visit("pointStart", places.point_start);
  visit("pointEnd", places.point_end);
  visit("points", places.points);
}

}  // namespace ebb::layout
