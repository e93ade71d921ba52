// ebb/graph/layout/align.cpp -- lines nodes up in blocks, packs the blocks, balances the results.
#include "ebb/graph/layout/align.h"

#include "ebb/graph/layout/constants.h"

namespace ebb::layout {
namespace {

constexpr int kManyNodes = 8000;  // two corners do for more: nobody follows bends from end to end

}  // namespace

Alignment::Alignment(const Ordering& ordering, const Array<double>& left,
                     const Array<double>& right)
    : ordering_(ordering),
      graph_(ordering.graph),
      left_(left),
      right_(right),
      straight_up_(graph_.count(), -1),
      straight_down_(graph_.count(), -1),
      crossed_(graph_.upper.size()),
      corners_(graph_.count() > kManyNodes ? 2 : 4) {
  find_straight();
  find_pairs();
  mark_conflicts();
}

void Alignment::find_straight() {
  for (int piece = 0; piece < graph_.upper.size(); ++piece) {
    if (graph_.is_straight[piece] == 0) continue;
    straight_up_[graph_.lower[piece]] = piece;
    straight_down_[graph_.upper[piece]] = piece;
  }
}

void Alignment::find_pairs() {
  for (int layer = 0; layer < graph_.layers; ++layer) {
    for (int k = ordering_.start[layer] + 1; k < ordering_.start[layer + 1]; ++k) {
      const int left = ordering_.nodes[k - 1];
      const int right = ordering_.nodes[k];
      const double gap = graph_.is_lane(left) && graph_.is_lane(right) ? kLaneGap : kGap;
      pair_left_.push(left);
      pair_right_.push(right);
      pair_width_.push(right_[left] + left_[right] + gap);
    }
  }
}

/// Marks pieces that cross a straight one: they must not be lined up.
void Alignment::mark_conflicts() {
  const Array<int>& start = ordering_.start;
  for (int layer = 1; layer < graph_.layers; ++layer) {
    int from = 0;
    int scanned = start[layer];
    const int end = start[layer + 1];
    for (int k = start[layer]; k < end; ++k) {
      const int straight = straight_up_[ordering_.nodes[k]];
      if (straight < 0 && k < end - 1) continue;
      const int to =
          straight >= 0 ? ordering_.place[graph_.upper[straight]] : start[layer] - start[layer - 1];
      for (; scanned <= k; ++scanned) mark_outside(ordering_.nodes[scanned], from, to);
      from = to;
    }
  }
}

void Alignment::mark_outside(int node, int from, int to) {
  for (const int piece : ordering_.up[node]) {
    const int above = ordering_.place[graph_.upper[piece]];
    if ((above < from || above > to) && graph_.is_straight[piece] == 0) crossed_[piece] = 1;
  }
}

bool Alignment::pack_corner() {
  Corner& corner = corner_[packed_];
  corner.side = packed_ % 2 == 0 ? Side::left : Side::right;
  const Array<int> root = align(packed_ < 2 ? Way::down : Way::up, corner.side);
  pack(root, corner);
  return ++packed_ < corners_;
}

/// Chains nodes into upright blocks; returns for each node the first of its block.
Array<int> Alignment::align(Way way, Side side) {
  root_ = in_order(graph_.count());
  for (int k = 1; k < graph_.layers; ++k) {
    const int layer = way == Way::down ? k : graph_.layers - 1 - k;
    const int from = ordering_.start[layer];
    const int size = ordering_.start[layer + 1] - from;
    int limit = side == Side::left ? -1 : INT32_MAX;
    for (int j = 0; j < size; ++j) {
      const int at = side == Side::left ? j : size - 1 - j;
      align_node(ordering_.nodes[from + at], way, side, limit);
    }
  }
  return static_cast<Array<int>&&>(root_);
}

/// Lines a node up with a median neighbour beyond `limit`, which then is the new limit.
void Alignment::align_node(int node, Way way, Side side, int& limit) {
  find_medians(node, way, side);
  const int pieces[] = {first_, second_};
  for (const int piece : pieces) {
    if (piece < 0 || crossed_[piece] != 0) continue;
    const int other = way == Way::down ? graph_.upper[piece] : graph_.lower[piece];
    const int place = ordering_.place[other];
    const int wanted = (way == Way::down ? straight_down_ : straight_up_)[other];
    if (wanted >= 0 && wanted != piece) continue;
    if (side == Side::left ? place <= limit : place >= limit) continue;
    root_[node] = root_[other];
    limit = place;
    return;
  }
}

/// The pieces to try: a straight one, else the middle one or two.
void Alignment::find_medians(int node, Way way, Side side) {
  const View<int> pieces = (way == Way::down ? ordering_.up : ordering_.down)[node];
  second_ = -1;
  first_ = (way == Way::down ? straight_up_ : straight_down_)[node];
  if (first_ >= 0 || pieces.size == 0) return;
  const int low = pieces[(pieces.size - 1) / 2];
  const int high = pieces[pieces.size / 2];
  first_ = side == Side::left ? low : high;
  second_ = side == Side::left ? high : low;
}

/// Packs the blocks to one side, then moves each as far back as its neighbours there allow.
void Alignment::pack(const Array<int>& root, Corner& corner) const {
  const bool is_left = corner.side == Side::left;
  const Array<int>& before = is_left ? pair_left_ : pair_right_;
  const Array<int>& after = is_left ? pair_right_ : pair_left_;
  const int count = graph_.count();
  Array<int> from(before.size());
  Array<int> degree(count);
  for (int pair = 0; pair < before.size(); ++pair) {
    from[pair] = root[before[pair]];
    degree[root[after[pair]]] += 1;
  }
  const Rows pairs = group_rows(from, count);
  Array<double> x(count);
  Array<int> order;
  for (int node = 0; node < count; ++node) {
    if (root[node] == node && degree[node] == 0) order.push(node);
  }
  for (int k = 0; k < order.size(); ++k) {
    for (const int pair : pairs[order[k]]) {
      const int block = root[after[pair]];
      x[block] = most(x[block], x[order[k]] + pair_width_[pair]);
      if (--degree[block] == 0) order.push(block);
    }
  }
  for (int k = order.size() - 1; k >= 0; --k) {
    double room = __builtin_inf();
    for (const int pair : pairs[order[k]]) {
      room = least(room, x[root[after[pair]]] - pair_width_[pair]);
    }
    if (room != __builtin_inf()) x[order[k]] = most(x[order[k]], room);
  }
  corner.x = Array<double>(count);
  for (int node = 0; node < count; ++node)
    corner.x[node] = is_left ? x[root[node]] : -x[root[node]];
}

Array<double> Alignment::balance() {
  const Corner* narrow = corner_;
  for (Corner& corner : corner_) {
    if (&corner - corner_ >= corners_) break;
    corner.low = __builtin_inf();
    corner.high = -__builtin_inf();
    for (int node = 0; node < graph_.count(); ++node) {
      corner.low = least(corner.low, corner.x[node] - left_[node]);
      corner.high = most(corner.high, corner.x[node] + right_[node]);
    }
    if (corner.high - corner.low < narrow->high - narrow->low) narrow = &corner;
  }
  Array<double> x(graph_.count());
  for (int node = 0; node < graph_.count(); ++node) {
    double sum = 0;
    double low = __builtin_inf();
    double high = -__builtin_inf();
    for (int k = 0; k < corners_; ++k) {
      const Corner& corner = corner_[k];
      const double shift =
          corner.side == Side::left ? narrow->low - corner.low : narrow->high - corner.high;
      const double place = corner.x[node] + shift;
      sum += place;
      low = least(low, place);
      high = most(high, place);
    }
    x[node] = corners_ == 4 ? (sum - low - high) / 2 : sum / 2;
  }
  return x;
}

}  // namespace ebb::layout
