// ebb/graph/layout/route.h -- cuts each edge at the borders of frames into links, one per level.
//
// A pair is two neighbours on one level with any edge between what they hold. Inside frames its
// edges run from a source to an exit, and from an entry to a target, which are ports. Edges of one
// source share its exit, edges of one target its entry: few lines cross a border.
#pragma once
#include "ebb/graph/layout/array.h"

namespace ebb::layout {

/// What is to be laid out: items, of which item 0 is the picture itself, and edges between boxes.
struct Input {
  View<int> parent;        // the frame around each item, which comes before it; -1 of item 0
  View<uint8_t> is_frame;  // whether an item is a frame; else it is a box
  View<double> rank;       // their order from top to bottom, on every level
  View<double> width;      // of a frame: at least
  View<double> height;     // of a box
  View<int> from;          // of each edge: the box that it leaves
  View<int> to;            // and the one that it comes to
};

/// The links of all edges. An end of a link is an item, or `~port`.
struct Links {
  Array<int> level;  // of each link: the frame in which it is drawn
  Array<int> from;
  Array<int> to;
  Array<int> pair;
  Array<int> edge_start;  // links of edge e: edge_links[edge_start[e]] to [edge_start[e + 1]]
  Array<int> edge_links;
  Array<int> port_level;        // of each port: the frame in whose border it is
  Array<uint8_t> port_is_exit;  // whether that is the lower border
};

/// Finds pairs, ports and links.
class Router {
 public:
  Router(const Input& input, Links& links);

  /// The port by which a link of a pair leaves or enters a frame; -1: by none.
  int port_at(int frame, int pair, bool is_source) const;

 private:
  void match(int edge);
  void route(int edge);
  int add_port(int child, int pair, bool is_source);
  void add_link(int level, int from, int to, int pair);
  uint64_t port_key(int frame, int pair, bool is_source) const;

  const Input& input_;
  Links& links_;
  Array<int> depth_;
  Array<int> pair_of_;  // by edge
  Array<int> top_;      // the pair's items, around each edge's ends
  Array<int> bottom_;
  Array<int> pair_from_;  // the only box from which a pair's edges come, or -1
  Array<int> pair_to_;
  Array<uint8_t> pair_is_upward_;
  Numbers pairs_;
  Numbers ports_;
  Numbers known_;  // links
};

}  // namespace ebb::layout
