// ebb/graph/layout/layout.h -- the places of all boxes, frames and links of a picture.
//
// Each frame is a level of its own, laid out from the innermost to the outermost; a frame inside is
// one box there. An edge that crosses a frame's border leaves through an exit and enters through an
// entry, which are boxes of no height in its last and first layer. Start reading at Layout::step().
#pragma once
#include "ebb/core/base/export.h"
#include "ebb/graph/layout/places.h"

namespace ebb::layout {

class FrameLayout;

/// Lays out a picture step by step; no step takes longer than a pass over the largest level.
class EBB_API Layout {
 public:
  /// What `input` refers to must stay until the layout has finished.
  explicit Layout(const Input& input);
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  /// Goes on; returns whether there is more to do.
  bool step();

  const Places& places() const { return places_; }

 private:
  void begin();
  void place_absolutely();

  const Input input_;
  Places places_;
  Router* router_ = nullptr;
  Rows children_;  // by frame
  Rows ports_;
  Rows links_;
  int next_;  // the frame to come; those inside a frame come before it
  FrameLayout* frame_ = nullptr;
};

}  // namespace ebb::layout
