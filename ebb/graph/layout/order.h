// ebb/graph/layout/order.h -- the order of the nodes in each layer.
#pragma once
#include "ebb/graph/layout/layers.h"

namespace ebb::layout {

/// Orders layers by the mean place of the neighbours, to and fro; keeps the best order.
class Ordering {
 public:
  explicit Ordering(const Layered& graph);

  /// Goes once over all layers; returns whether there is more to do.
  bool sweep();

  const Layered& graph;
  Rows up;           // pieces by their lower node, after the last sweep in the order of their ends
  Rows down;         // and by their upper one
  Array<int> start;  // nodes of layer k: nodes[start[k]] to nodes[start[k + 1]]
  Array<int> nodes;
  Array<int> place;  // of a node in its layer

 private:
  int width(int layer) const { return start[layer + 1] - start[layer]; }
  void number_layer(int layer);
  void sort_layer(int layer, bool is_down);
  void insert(int from, int size);
  void count(int from, int size, int values);
  double mean_place(int node, bool is_down) const;
  int64_t crossings() const;
  int64_t crossings_above(int layer) const;
  void finish();

  int round_ = 0;
  int rounds_;
  bool counts_;  // whether crossings are counted
  int64_t fewest_ = INT64_MAX;
  Array<int> best_;
  Array<int> keys_;
};

}  // namespace ebb::layout
