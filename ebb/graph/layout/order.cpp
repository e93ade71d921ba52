// ebb/graph/layout/order.cpp -- sweeps over the layers; sorting is linear in the width of a layer.
#include "ebb/graph/layout/order.h"

namespace ebb::layout {
namespace {

constexpr int kShortLayer = 16;  // nodes up to which a layer is sorted by insertion
constexpr int kCounted = 5000;   // pieces up to which counting crossings is worth its time
constexpr int kMany = 50000;     // pieces from which on two sweeps do
constexpr double kSteps = 8;     // a mean place is told apart to this part of a place

/// Puts the pieces of each node into the order of their other ends, without comparing any.
void sort_pieces(Rows& mine, const Rows& others, const Array<int>& along, const Array<int>& nodes) {
  Array<int> next = mine.start.copy();
  for (const int node : nodes) {
    for (const int piece : others[node]) mine.items[next[along[piece]]++] = piece;
  }
}

}  // namespace

Ordering::Ordering(const Layered& all)
    : graph(all),
      up(group_rows(all.lower, all.count())),
      down(group_rows(all.upper, all.count())),
      place(all.count()),
      keys_(all.count()) {
  Rows layers = group_rows(all.layer_of, all.layers);
  start = static_cast<Array<int>&&>(layers.start);
  nodes = static_cast<Array<int>&&>(layers.items);
  for (int layer = 0; layer < all.layers; ++layer) number_layer(layer);
  const int pieces = all.upper.size();
  rounds_ = pieces < kCounted ? 8 : pieces < kMany ? 4 : 2;
  counts_ = pieces < kCounted;
}

void Ordering::number_layer(int layer) {
  for (int k = start[layer]; k < start[layer + 1]; ++k) place[nodes[k]] = k - start[layer];
}

bool Ordering::sweep() {
  const bool is_down = round_ % 2 == 0;
  for (int k = 1; k < graph.layers; ++k) {
    sort_layer(is_down ? k : graph.layers - 1 - k, is_down);
  }
  ++round_;
  if (counts_) {
    const int64_t now = crossings();
    if (now < fewest_) {
      fewest_ = now;
      best_ = nodes.copy();
    }
  }
  if (round_ < rounds_ && fewest_ > 0) return true;
  finish();
  return false;
}

void Ordering::finish() {
  if (best_.size() > 0) {
    nodes = static_cast<Array<int>&&>(best_);
    for (int layer = 0; layer < graph.layers; ++layer) number_layer(layer);
  }
  sort_pieces(up, down, graph.lower, nodes);
  sort_pieces(down, up, graph.upper, nodes);
}

/// Sorts by the mean place, stably, so that ties stay in order.
void Ordering::sort_layer(int layer, bool is_down) {
  const int from = start[layer];
  const int size = width(layer);
  if (size < 2) return;
  const int beside = width(is_down ? layer - 1 : layer + 1);
  for (int k = 0; k < size; ++k) {
    double mean = mean_place(nodes[from + k], is_down);
    if (mean < 0) mean = static_cast<double>(k) * beside / size;
    keys_[k] = static_cast<int>(kSteps * mean + 0.5);
  }
  if (size <= kShortLayer) {
    insert(from, size);
  } else {
    count(from, size, static_cast<int>(kSteps) * beside + 1);
  }
  number_layer(layer);
}

void Ordering::insert(int from, int size) {
  for (int k = 1; k < size; ++k) {
    const int key = keys_[k];
    const int node = nodes[from + k];
    int at = k;
    for (; at > 0 && keys_[at - 1] > key; --at) {
      keys_[at] = keys_[at - 1];
      nodes[from + at] = nodes[from + at - 1];
    }
    keys_[at] = key;
    nodes[from + at] = node;
  }
}

void Ordering::count(int from, int size, int values) {
  const Rows sorted = group_rows({keys_.data(), size}, values);
  Array<int> before(size);
  for (int k = 0; k < size; ++k) before[k] = nodes[from + k];
  for (int k = 0; k < size; ++k) nodes[from + k] = before[sorted.items[k]];
}

/// The mean place of a node's neighbours in the layer before; -1 without any.
double Ordering::mean_place(int node, bool is_down) const {
  const View<int> pieces = (is_down ? up : down)[node];
  const Array<int>& ends = is_down ? graph.upper : graph.lower;
  if (pieces.size == 0) return -1;
  int64_t sum = 0;
  for (const int piece : pieces) sum += place[ends[piece]];
  return static_cast<double>(sum) / pieces.size;
}

int64_t Ordering::crossings() const {
  int64_t sum = 0;
  for (int layer = 1; layer < graph.layers; ++layer) sum += crossings_above(layer);
  return sum;
}

/// Counts, with a tree of partial sums, the earlier pieces that end to the right of each one.
int64_t Ordering::crossings_above(int layer) const {
  const int places = width(layer - 1);
  Array<int> tree(places + 1);
  int seen = 0;
  int64_t found = 0;
  for (int k = start[layer]; k < start[layer + 1]; ++k) {
    const View<int> pieces = up[nodes[k]];
    for (const int piece : pieces) {
      int up_to = 0;
      for (int at = place[graph.upper[piece]] + 1; at > 0; at -= at & -at) up_to += tree[at];
      found += seen - up_to;
    }
    for (const int piece : pieces) {
      ++seen;
      for (int at = place[graph.upper[piece]] + 1; at <= places; at += at & -at) tree[at] += 1;
    }
  }
  return found;
}

}  // namespace ebb::layout
