// tests/graph/layout_test.cpp -- places of boxes, frames and lines; steps of loops.
#include "ebb/graph/layout/layout.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ebb/graph/layout/loops.h"

namespace ebb::layout {
namespace {

constexpr double kWidth = 60;
constexpr double kHeight = 20;

/// A picture whose items are ranked as they are numbered; item 0 is the picture itself.
struct Picture {
  std::vector<int> parent = {-1};
  std::vector<uint8_t> is_frame = {1};
  std::vector<int> from;
  std::vector<int> to;

  int add(int frame, bool holds_others = false) {
    parent.push_back(frame);
    is_frame.push_back(holds_others ? 1 : 0);
    return static_cast<int>(parent.size()) - 1;
  }
  void join(int one, int other) {
    from.push_back(one);
    to.push_back(other);
  }
};

template <typename T>
View<T> view_of(const std::vector<T>& values) {
  return {values.data(), static_cast<int>(values.size())};
}

/// A picture that has been laid out.
class LaidOut {
 public:
  explicit LaidOut(Picture picture)
      : picture_(std::move(picture)),
        rank_(picture_.parent.size()),
        width_(picture_.parent.size(), kWidth),
        height_(picture_.parent.size(), kHeight),
        layout_(input()) {
    for (size_t item = 0; item < rank_.size(); ++item) rank_[item] = static_cast<double>(item);
    while (layout_.step()) ++steps_;
  }
  const Places& places() const { return layout_.places(); }
  int steps() const { return steps_; }

  double left(int item) const { return places().x[item]; }
  double right(int item) const { return left(item) + places().width[item]; }
  double top(int item) const { return places().y[item]; }
  double bottom(int item) const { return top(item) + places().height[item]; }

  /// How many boxes stick out of their frame, or overlap another one in it.
  int faults() const {
    int found = 0;
    const int count = static_cast<int>(picture_.parent.size());
    for (int one = 1; one < count; ++one) {
      const int frame = picture_.parent[one];
      found += left(one) < left(frame) || right(one) > right(frame) || top(one) < top(frame) ||
               bottom(one) > bottom(frame);
      for (int other = one + 1; other < count; ++other) {
        if (picture_.parent[other] != frame) continue;
        found += left(one) < right(other) && left(other) < right(one) && top(one) < bottom(other) &&
                 top(other) < bottom(one);
      }
    }
    return found;
  }

 private:
  Input input() const {
    return {view_of(picture_.parent), view_of(picture_.is_frame), view_of(rank_),
            view_of(width_),          view_of(height_),           view_of(picture_.from),
            view_of(picture_.to)};
  }

  Picture picture_;
  std::vector<double> rank_;
  std::vector<double> width_;
  std::vector<double> height_;
  Layout layout_;
  int steps_ = 0;
};

TEST(Layout, TakesNothingAtAll) {
  Layout layout({});
  while (layout.step()) continue;
  EXPECT_EQ(layout.places().x.size(), 0);
}

TEST(Layout, AnEmptyPictureHasASize) {
  const LaidOut empty{Picture()};
  EXPECT_GT(empty.places().width[0], 0);
  EXPECT_GT(empty.places().height[0], 0);
}

TEST(Layout, OneBoxLiesInsideThePicture) {
  Picture picture;
  const int box = picture.add(0);
  const LaidOut found{std::move(picture)};
  EXPECT_EQ(found.faults(), 0);
  EXPECT_EQ(found.right(box) - found.left(box), kWidth);
}

TEST(Layout, AnEmptyFrameIsABox) {
  Picture picture;
  picture.add(0, true);
  picture.add(0);
  EXPECT_EQ(LaidOut{std::move(picture)}.faults(), 0);
}

TEST(Layout, AChainIsOneUprightLine) {
  Picture picture;
  for (int k = 0; k < 4; ++k) picture.add(0);
  for (int k = 1; k < 4; ++k) picture.join(k, k + 1);
  const LaidOut found{std::move(picture)};
  for (int box = 2; box <= 4; ++box) {
    EXPECT_EQ(found.left(box), found.left(1));
    EXPECT_GT(found.top(box), found.bottom(box - 1));
  }
}

TEST(Layout, AnEdgeToItselfIsNoLine) {
  Picture picture;
  const int box = picture.add(0);
  picture.join(box, box);
  const LaidOut found{std::move(picture)};
  EXPECT_EQ(found.places().links.level.size(), 0);
  EXPECT_EQ(found.places().links.edge_start[1], 0);
}

TEST(Layout, AnEdgeAgainstTheOrderLeadsUp) {
  Picture picture;
  const int one = picture.add(0), other = picture.add(0);
  picture.join(one, other);
  picture.join(other, one);
  const LaidOut found{std::move(picture)};
  EXPECT_GT(found.top(other), found.bottom(one));
  EXPECT_EQ(found.places().is_upward[0], 0);
  EXPECT_EQ(found.places().is_upward[1], 1);
}

TEST(Layout, PartsWithoutAnEdgeBetweenThemDoNotOverlap) {
  Picture picture;
  for (int part = 0; part < 5; ++part) {
    const int one = picture.add(0), other = picture.add(0);
    picture.join(one, other);
  }
  EXPECT_EQ(LaidOut{std::move(picture)}.faults(), 0);
}

TEST(Layout, AVeryWideLayerStaysInOneRow) {
  Picture picture;
  const int last = 1200;
  for (int k = 0; k < last; ++k) picture.add(0);
  for (int box = 1; box < last; ++box) picture.join(box, last);
  const LaidOut found{std::move(picture)};
  for (int box = 2; box < last; ++box) EXPECT_EQ(found.top(box), found.top(1));
  EXPECT_EQ(found.faults(), 0);
}

TEST(Layout, AnEdgeOutOfFramesGoesOnAtEachBorder) {
  Picture picture;
  const int outer = picture.add(0, true), inner = picture.add(outer, true);
  const int one = picture.add(inner), other = picture.add(0);
  picture.join(one, other);
  const LaidOut found{std::move(picture)};
  const Places& places = found.places();
  EXPECT_EQ(found.faults(), 0);
  ASSERT_EQ(places.links.level.size(), 3);  // in the inner frame, in the outer one, beside both
  for (int link = 0; link < 2; ++link) {
    const double* const end = &places.points[2 * places.point_end[link] - 2];
    const double* const next = &places.points[2 * places.point_start[link + 1]];
    EXPECT_EQ(end[0], next[0]);
    EXPECT_EQ(end[1], next[1]);
  }
}

TEST(Layout, FramesAsDeepAsTheGraphNeedNoDeepStack) {
  Picture picture;
  int frame = 0;
  for (int depth = 0; depth < 3000; ++depth) frame = picture.add(frame, true);
  const int inside = picture.add(frame), outside = picture.add(0);
  picture.join(inside, outside);
  const LaidOut found{std::move(picture)};
  EXPECT_GT(found.top(outside), found.bottom(inside));
}

TEST(Layout, ALongChainWithLongEdgesTakesManyShortSteps) {
  Picture picture;
  const int count = 20000;
  for (int k = 0; k < count; ++k) picture.add(0);
  for (int box = 2; box <= count; ++box) {
    picture.join(box - 1, box);
    picture.join(1 + box / 3, box);
  }
  const LaidOut found{std::move(picture)};
  EXPECT_GT(found.top(count), found.bottom(count - 1));
  EXPECT_GE(found.steps(), 5);
}

TEST(Loops, EqualOpsInARowAreStepsFromThreeOn) {
  const std::vector<int> twice = {1, 2, 1, 2}, thrice = {9, 1, 2, 1, 2, 1, 2};
  EXPECT_EQ(find_loops({.symbols = view_of(twice)}).size(), 0);
  const Array<int> found = find_loops({.symbols = view_of(thrice)});
  EXPECT_EQ(std::vector(found.begin(), found.end()), (std::vector{1, 2, 3}));
  EXPECT_EQ(find_loops({.symbols = view_of(thrice), .least_ops = 7}).size(), 0);
}

TEST(Loops, OpsThatAreJoinedOtherwiseAreNone) {
  const std::vector<int> symbols(3, 1), start = {0, 1, 2, 3}, input(3, 0);
  const auto loops = [&](const std::vector<int>& maker) {
    return find_loops({view_of(symbols), view_of(start), view_of(input), view_of(maker)}).size() /
           3;
  };
  EXPECT_EQ(loops({-1, 0, 1}), 1);
  EXPECT_EQ(loops({-1, -1, 1}), 0);
}

TEST(Loops, NothingHasNone) { EXPECT_EQ(find_loops({}).size(), 0); }

}  // namespace
}  // namespace ebb::layout
