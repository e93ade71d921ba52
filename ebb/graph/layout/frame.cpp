// ebb/graph/layout/frame.cpp -- a frame's layers one below the other, then its links point by
// point.
#include "ebb/graph/layout/frame.h"

#include "ebb/graph/layout/constants.h"

namespace ebb::layout {

FrameLayout::FrameLayout(const Input& input, const Router& router, Places& places, Shown shown)
    : input_(input), router_(router), places_(places), shown_(shown) {
  number_boxes();
  number_links();
  layered_ = new Layered(level_);
  ordering_ = new Ordering(*layered_);
}

FrameLayout::~FrameLayout() {
  delete alignment_;
  delete ordering_;
  delete layered_;
}

bool FrameLayout::step() {
  if (!is_ordered_) {
    is_ordered_ = !ordering_->sweep();
    return true;
  }
  if (alignment_ == nullptr) align();
  if (alignment_->pack_corner()) return true;
  x_ = alignment_->balance();
  place();
  find_ends();
  for (int link = 0; link < shown_.links.size; ++link) draw(link);
  return false;
}

/// Numbers what is shown from top to bottom: entries, then items in their order, then exits.
void FrameLayout::number_boxes() {
  const auto add_ports = [&](Port kind) {
    for (const int port : shown_.ports) {
      if ((places_.links.port_is_exit[port] != 0) != (kind == Port::exit)) continue;
      box_.push(~port);
      level_.port.push(kind);
    }
  };
  add_ports(Port::entry);
  for (const int item : shown_.items) {
    box_.push(item);
    level_.port.push(Port::none);
  }
  add_ports(Port::exit);
}

void FrameLayout::number_links() {
  Numbers number_of;  // of items and ports, in the order of their numbers
  const auto key_of = [](int end) {
    return end < 0 ? static_cast<uint64_t>(~end) * 2 + 1 : static_cast<uint64_t>(end) * 2;
  };
  for (const int box : box_) number_of.of(key_of(box));
  for (const int link : shown_.links) {
    const int from = number_of.of(key_of(places_.links.from[link]));
    const int to = number_of.of(key_of(places_.links.to[link]));
    level_.low.push(least(from, to));
    level_.high.push(most(from, to));
    places_.is_upward[link] = from > to ? 1 : 0;
  }
}

void FrameLayout::align() {
  left_ = Array<double>(layered_->count(), kLane);
  right_ = Array<double>(layered_->count(), kLane);
  for (int box = 0; box < box_.size(); ++box) {
    const int item = box_[box];
    left_[box] = item < 0 ? kPort : places_.anchor[item];
    right_[box] = item < 0 ? kPort : places_.width[item] - places_.anchor[item];
  }
  alignment_ = new Alignment(*ordering_, left_, right_);
}

bool FrameLayout::has(Port port) const {
  for (const Port one : level_.port) {
    if (one == port) return true;
  }
  return false;
}

/// Moves all x into the frame, and finds where the layers and the boxes are.
void FrameLayout::place() {
  double left = x_.size() == 0 ? 0 : __builtin_inf();
  double right = x_.size() == 0 ? 0 : -__builtin_inf();
  for (int node = 0; node < x_.size(); ++node) {
    left = least(left, x_[node] - left_[node]);
    right = most(right, x_[node] + right_[node]);
  }
  const double pad = is_outermost() ? kMargin : kPad;
  const double width = most(right - left + 2 * pad, input_.width[shown_.frame]);
  const double shift = (width - (right - left)) / 2 - left;
  for (double& x : x_) x += shift;
  places_.width[shown_.frame] = width;
  place_layers();
  place_boxes();
  places_.anchor[shown_.frame] = find_anchor();
}

void FrameLayout::place_layers() {
  const Layered& graph = *layered_;
  Array<double> tall(graph.layers);
  for (int box = 0; box < box_.size(); ++box) {
    double& height = tall[graph.layer_of[box]];
    if (box_[box] >= 0) height = most(height, places_.height[box_[box]]);
  }
  Array<double> shift(graph.layers);  // the widest move to the layer below
  for (int piece = 0; piece < graph.upper.size(); ++piece) {
    const double move = x_[graph.upper[piece]] - x_[graph.lower[piece]];
    double& widest = shift[graph.layer_of[graph.upper[piece]]];
    widest = most(widest, move < 0 ? -move : move);
  }
  const bool has_entry = has(Port::entry);
  double y = is_outermost() ? kMargin : has_entry ? 0 : kHeader + 6;
  for (int layer = 0; layer < graph.layers; ++layer) {
    top_.push(y);
    bottom_.push(y + tall[layer]);
    y = bottom_[layer] + kLayerGap + least(kMostSlant, shift[layer] / kSlant);
    if (layer == 0 && has_entry) y = most(y, kHeader + 14);  // what comes in passes the title
  }
  const double low = graph.layers == 0 ? y : bottom_[graph.layers - 1];
  places_.height[shown_.frame] = low + (has(Port::exit) ? 0 : is_outermost() ? kMargin : kPad);
}

void FrameLayout::place_boxes() {
  for (int box = 0; box < box_.size(); ++box) {
    const int item = box_[box];
    if (item < 0) {
      places_.port_x[~item] = x_[box];
    } else {
      places_.x[item] = x_[box] - places_.anchor[item];
      places_.y[item] = top_[layered_->layer_of[box]];
    }
  }
}

/// Where the frame is lined up with those above and below: where its main flow passes.
double FrameLayout::find_anchor() const {
  int entry = -1;
  int exit = -1;
  for (int link = 0; link < level_.low.size(); ++link) {
    if (layered_->is_spine[link] == 0) continue;
    if (level_.port[level_.low[link]] == Port::entry) entry = level_.low[link];
    if (level_.port[level_.high[link]] == Port::exit && exit < 0) exit = level_.high[link];
  }
  int best = entry >= 0 ? entry : exit;
  for (int box = 0; box < box_.size() && best < 0; ++box) {
    if (level_.port[box] != Port::none) best = box;
  }
  return best < 0 ? places_.width[shown_.frame] / 2 : x_[best];
}

/// Spreads the ends of links over the upper or lower side of each box, in the order of x.
void FrameLayout::find_ends() {
  top_end_ = Array<double>(shown_.links.size);
  bottom_end_ = Array<double>(shown_.links.size);
  spread(level_.low, top_end_, true);
  spread(level_.high, bottom_end_, false);
}

void FrameLayout::spread(const Array<int>& box_of, Array<double>& ends, bool is_top) {
  const Rows links_of = group_rows(box_of, box_.size());
  for (int box = 0; box < box_.size(); ++box) {
    const int item = box_[box];
    const bool is_frame = item >= 0 && input_.is_frame[item] != 0;
    Array<int> links;
    for (const int link : links_of[box]) {
      ends[link] = is_frame ? port_x(item, shown_.links[link], x_[box]) : x_[box];
      if (is_top || layered_->tail[link] < 0) links.push(link);
    }
    if (item >= 0 && !is_frame && links.size() > 1) spread_box(box, links, ends, is_top);
  }
}

void FrameLayout::spread_box(int box, Array<int>& links, Array<double>& ends, bool is_top) {
  sort_stably(links,
              [&](int one, int other) { return next_x(one, is_top) < next_x(other, is_top); });
  double middle = (links.size() - 1) / 2.0;
  for (int place = links.size() - 1; place >= 0; --place) {
    if (layered_->is_spine[links[place]] != 0) middle = place;  // the main flow stays in the middle
  }
  const double width = places_.width[box_[box]];
  const double step = least(kLinkStep, (width - 20) / (links.size() - 1));
  const double limit = width / 2 - 8;
  for (int place = 0; place < links.size(); ++place) {
    ends[links[place]] += least(limit, most(-limit, (place - middle) * step));
  }
}

/// Where a link goes from its upper end, or comes from to its lower end.
double FrameLayout::next_x(int link, bool is_top) const {
  const int lanes = layered_->lanes[link];
  if (lanes > 0) return x_[layered_->lane[link] + (is_top ? 0 : lanes - 1)];
  return x_[is_top ? level_.high[link] : level_.low[link]];
}

/// Where the picture inside a frame lets this link out or in.
double FrameLayout::port_x(int frame, int link, double fallback) const {
  const bool is_source = places_.links.from[link] == frame;
  const int port = router_.port_at(frame, places_.links.pair[link], is_source);
  return port < 0 ? fallback : places_.x[frame] + places_.port_x[port];
}

void FrameLayout::draw(int number) {
  const int link = shown_.links[number];
  const Layered& graph = *layered_;
  const int low = level_.low[number];
  const int high = level_.high[number];
  const bool has_path = graph.has_path[number] != 0;
  const int first = places_.points.size();
  places_.point_start[link] = first / 2;
  const int layer = graph.layer_of[low];
  const double base = top_[layer] + (box_[low] < 0 ? 0 : places_.height[box_[low]]);
  add_point(first, top_end_[number], base);
  if (has_path && bottom_[layer] > base + 1) add_point(first, top_end_[number], bottom_[layer]);
  const bool joins = graph.tail[number] >= 0;
  for (int k = 0; k < graph.lanes[number]; ++k) {
    const int node = graph.lane[number] + k;
    add_point(first, x_[node], top_[graph.layer_of[node]]);
    if (!joins) add_point(first, x_[node], bottom_[graph.layer_of[node]]);
  }
  if (!joins) {
    const bool is_exit = level_.port[high] == Port::exit;
    add_point(first, bottom_end_[number],
              is_exit ? places_.height[shown_.frame] : top_[graph.layer_of[high]]);
  }
  places_.point_end[link] = places_.points.size() / 2;
  places_.is_far[link] = has_path ? 0 : 1;
  if (joins) places_.tail[link] = shown_.links[graph.tail[number]];
}

/// Adds a point to a link that began at `first`; of three on an upright line the middle one goes.
void FrameLayout::add_point(int first, double x, double y) {
  Array<double>& points = places_.points;
  const int count = points.size();
  if (count - first >= 4 && points[count - 2] == x && points[count - 4] == x) {
    points[count - 1] = y;
  } else {
    points.push(x);
    points.push(y);
  }
}

}  // namespace ebb::layout
