// ebb/graph/layout/align.h -- x of each node of a layered graph: straight lanes, no overlap.
//
// The method of Brandes and Koepf: each node is lined up with the median of its neighbours, once
// for each of four corners; blocks of lined-up nodes are packed; x is the mean of the middle two
// of the four results. Pieces of lanes and of the main flow win, so long links are straight.
#pragma once
#include "ebb/graph/layout/order.h"

namespace ebb::layout {

class Alignment {
 public:
  /// `left` and `right`: how far each node reaches from its x to both sides.
  Alignment(const Ordering& ordering, const Array<double>& left, const Array<double>& right);

  /// Packs one corner; returns whether there is more to do.
  bool pack_corner();

  /// x of each node, once all corners are packed.
  Array<double> balance();

 private:
  enum class Way : uint8_t { up, down };
  enum class Side : uint8_t { left, right };
  struct Corner {
    Array<double> x;
    Side side = Side::left;
    double low = 0;
    double high = 0;
  };

  void find_straight();
  void find_pairs();
  void mark_conflicts();
  void mark_outside(int node, int from, int to);
  Array<int> align(Way way, Side side);
  void align_node(int node, Way way, Side side, int& limit);
  void find_medians(int node, Way way, Side side);
  void pack(const Array<int>& root, Corner& corner) const;

  const Ordering& ordering_;
  const Layered& graph_;
  const Array<double>& left_;
  const Array<double>& right_;
  Array<int> straight_up_;  // of each node: its straight piece upwards, or -1
  Array<int> straight_down_;
  Array<uint8_t> crossed_;  // by piece: crosses a straight one, so its ends are not lined up
  Array<int> pair_left_;    // all neighbours in a layer
  Array<int> pair_right_;
  Array<double> pair_width_;  // how far apart they must be
  int corners_;
  int packed_ = 0;
  Corner corner_[4];
  // Of the corner that is packed just now:
  int first_ = -1;  // pieces along which a node may be lined up
  int second_ = -1;
  Array<int> root_;
};

}  // namespace ebb::layout
