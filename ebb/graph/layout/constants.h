// ebb/graph/layout/constants.h -- the distances of every picture, in pixels at scale 1.
#pragma once

namespace ebb::layout {

inline constexpr double kGap = 26;        // between neighbours of a layer
inline constexpr double kLaneGap = 13;    // between lanes
inline constexpr double kLayerGap = 30;   // between layers, where links are nearly upright
inline constexpr double kMostSlant = 60;  // what wide links may add to that
inline constexpr double kSlant = 12;      // pixels aside for one more
inline constexpr double kPad = 18;        // between a frame and what is in it
inline constexpr double kMargin = 8;      // around the whole picture
inline constexpr double kHeader = 28;     // what a frame's title takes
inline constexpr double kPort = 5;        // how far a port reaches to both sides
inline constexpr double kLane = 2;        // and a lane
inline constexpr double kLinkStep = 14;   // between the ends of links on one side of a box

}  // namespace ebb::layout
