// ebb/graph/layout/layers.h -- puts the boxes of one level into layers and cuts links into pieces.
//
// A level is what one frame shows: boxes 0..count-1, numbered so that links lead to larger numbers
// (the few that do not are turned). A link over several layers takes a place in each: a lane. Links
// that end at the same box share one lane. Lanes that would need too many places are given up: such
// a link is drawn straight.
#pragma once
#include "ebb/graph/layout/array.h"

namespace ebb::layout {

enum class Port : uint8_t { none, entry, exit };

/// One level: its boxes and links.
struct Level {
  Array<Port> port;  // of each box: whether it is a place in the frame's border
  Array<int> low;    // of each link: the upper box, which has the smaller number
  Array<int> high;
  int count() const { return port.size(); }
};

/// A level whose links join neighbouring layers only. Nodes are boxes and, after them, lanes.
class Layered {
 public:
  explicit Layered(const Level& level);

  int count() const { return layer_of.size(); }
  bool is_lane(int node) const { return node >= level.count(); }

  const Level& level;
  int layers = 0;
  Array<int> layer_of;         // by node
  Array<uint8_t> is_spine;     // by link: the main flow, drawn straight
  Array<uint8_t> has_path;     // by link; without one it is drawn across
  Array<int> lane;             // by link: the first of its lane's nodes, which are numbered on
  Array<int> lanes;            // and how many those are
  Array<int> tail;             // by link: the link whose lane this one joins, or -1
  Array<int> upper;            // by piece
  Array<int> lower;            //
  Array<uint8_t> is_straight;  // by piece: wins over others when nodes are lined up

 private:
  void find_layers();
  void drop_empty_layers();
  void find_spine();
  Array<uint8_t> choose_lanes() const;
  void make_lanes();
  void make_lane(int link);
  void join_lane(int link, int owner);
  void add_piece(int above, int below, bool is_spine_link);
};

}  // namespace ebb::layout
