// ebb/graph/layout/layout.cpp -- frame after frame, the innermost first; then places in the whole.
#include "ebb/graph/layout/layout.h"

#include "ebb/graph/layout/frame.h"

namespace ebb::layout {

Layout::Layout(const Input& input)
    : input_(input), places_(input.parent.size), next_(input.parent.size) {}

Layout::~Layout() {
  delete frame_;
  delete router_;
}

bool Layout::step() {
  if (router_ == nullptr) {
    begin();
    return true;
  }
  if (frame_ != nullptr) {
    if (frame_->step()) return true;
    delete frame_;
    frame_ = nullptr;
  }
  while (--next_ >= 0) {
    if (input_.is_frame[next_] == 0) continue;
    const Shown shown{next_, children_[next_], ports_[next_], links_[next_]};
    frame_ = new FrameLayout(input_, *router_, places_, shown);
    return true;
  }
  place_absolutely();
  return false;
}

/// Routes all edges; sorts items, ports and links by the frame that they are in.
void Layout::begin() {
  const int count = input_.parent.size;
  router_ = new Router(input_, places_.links);
  Array<int> order = in_order(count);
  sort_stably(order, [&](int one, int other) { return input_.rank[one] < input_.rank[other]; });
  Array<int> above(count);
  for (int item = 0; item < count; ++item) above[item] = input_.parent[item] + 1;  // 0: none
  children_ = group_rows(above, count + 1, order);
  for (int item = 0; item <= count; ++item) children_.start[item] = children_.start[item + 1];
  ports_ = group_rows(places_.links.port_level, count);
  links_ = group_rows(places_.links.level, count);
  const int links = places_.links.level.size();
  places_.port_x = Array<double>(places_.links.port_level.size());
  places_.point_start = Array<int>(links);
  places_.point_end = Array<int>(links);
  places_.tail = Array<int>(links, -1);
  places_.is_upward = Array<uint8_t>(links);
  places_.is_far = Array<uint8_t>(links);
  for (int item = 0; item < count; ++item) {
    if (input_.is_frame[item] != 0) continue;
    places_.width[item] = input_.width[item];
    places_.height[item] = input_.height[item];
    places_.anchor[item] = input_.width[item] / 2;
  }
}

/// From places inside each frame to places in the whole picture, outermost first.
void Layout::place_absolutely() {
  for (int item = 1; item < input_.parent.size; ++item) {
    places_.x[item] += places_.x[input_.parent[item]];
    places_.y[item] += places_.y[input_.parent[item]];
  }
  for (int link = 0; link < places_.links.level.size(); ++link) {
    const int frame = places_.links.level[link];
    for (int k = places_.point_start[link]; k < places_.point_end[link]; ++k) {
      places_.points[2 * k] += places_.x[frame];
      places_.points[2 * k + 1] += places_.y[frame];
    }
  }
}

}  // namespace ebb::layout
