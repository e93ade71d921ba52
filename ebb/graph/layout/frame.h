// ebb/graph/layout/frame.h -- one level: what a frame shows, in layers, and the lines between.
#pragma once
#include "ebb/graph/layout/align.h"
#include "ebb/graph/layout/places.h"

namespace ebb::layout {

/// What a frame shows: items, and numbers of ports and links.
struct Shown {
  int frame;
  View<int> items;
  View<int> ports;
  View<int> links;
};

/// Lays out one frame, whose inner frames have been laid out.
class FrameLayout {
 public:
  FrameLayout(const Input& input, const Router& router, Places& places, Shown shown);
  ~FrameLayout();
  FrameLayout(const FrameLayout&) = delete;
  FrameLayout& operator=(const FrameLayout&) = delete;

  /// Goes on; returns whether there is more to do.
  bool step();

 private:
  void number_boxes();
  void number_links();
  void align();
  void place();
  void place_layers();
  void place_boxes();
  double find_anchor() const;
  void find_ends();
  void spread(const Array<int>& box_of, Array<double>& ends, bool is_top);
  void spread_box(int box, Array<int>& links, Array<double>& ends, bool is_top);
  double next_x(int link, bool is_top) const;
  double port_x(int frame, int link, double fallback) const;
  void draw(int link);
  void add_point(int first, double x, double y);

  bool is_outermost() const { return shown_.frame == 0; }
  bool has(Port port) const;

  const Input& input_;
  const Router& router_;
  Places& places_;
  const Shown shown_;
  Array<int> box_;  // items and ~ports from top to bottom: entries, items, exits
  Level level_;
  Layered* layered_ = nullptr;
  Ordering* ordering_ = nullptr;
  Alignment* alignment_ = nullptr;
  bool is_ordered_ = false;
  Array<double> left_;  // how far a node reaches from its x
  Array<double> right_;
  Array<double> x_;    // of nodes
  Array<double> top_;  // of layers
  Array<double> bottom_;
  Array<double> top_end_;  // of links: x of the upper end, and of the lower one
  Array<double> bottom_end_;
};

}  // namespace ebb::layout
