// ebb/core/runtime/parallel_arrays.h -- parallel_for over many arrays as if they lay end to end.
//
// Small arrays then share a piece and large ones are split, so a list of parameters of any sizes is
// one job for the pool. Pieces follow from the sizes alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ebb/core/runtime/parallel.h"

namespace ebb {

/// How many pieces parallel_over_arrays() makes.
inline int64_t count_pieces(std::span<const int64_t> ends, int64_t grain) {
  return ends.empty() ? 0 : (ends.back() + grain - 1) / grain;
}

/// The i-th array reaches from ends[i - 1] to ends[i], the first from 0. Calls `body(piece, i,
/// begin, end)` for the part of array i that lies in a piece of `grain` elements; begin and end
/// count from the start of that array. Parts of one piece come one after another, in order.
template <typename Body>
void parallel_over_arrays(std::span<const int64_t> ends, int64_t grain, Body&& body) {
  if (ends.empty()) return;
  parallel_for(ends.back(), grain, [&](int64_t begin, int64_t end) {
    const int64_t piece = begin / grain;
    auto index =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (; begin < end; ++index) {
      const int64_t start = index == 0 ? 0 : ends[index - 1];
      const int64_t part_end = std::min(end, ends[index]);
      if (part_end > begin) body(piece, index, begin - start, part_end - start);
      begin = part_end;
    }
  });
}

}  // namespace ebb
