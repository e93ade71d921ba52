// ebb/kernels/cpu/index/index_places.cpp -- numbers of places: find_true, unravel, combine_index.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"
#include "ebb/kernels/tables/combine_index.h"
#include "ebb/kernels/tables/find_true.h"
#include "ebb/kernels/tables/unravel.h"

namespace ebb::kernels::cpu {
namespace {

/// Eight elements at once: the highest bit of each byte tells whether any of its bits is set.
int64_t count_true(const uint8_t* mask, int64_t begin, int64_t end) {
  constexpr uint64_t kHighest = 0x8080808080808080;
  int64_t count = 0, i = begin;
  for (; i + 8 <= end; i += 8) {
    uint64_t bytes;
    std::memcpy(&bytes, mask + i, sizeof bytes);
    count += std::popcount((((bytes & ~kHighest) + ~kHighest) | bytes) & kHighest);
  }
  for (; i < end; ++i) count += mask[i] != 0;
  return count;
}

/// Writes the places of what is true in [begin, end), for which there is `room`; returns whether
/// there was just enough. Without a branch that depends on the mask: a place is always written, to
/// a tile, but counts only if it is one.
bool write_places(const uint8_t* mask, int64_t begin, int64_t end, std::span<int64_t> room) {
  int64_t tile[kTile];
  int64_t* to = room.data();
  auto left = static_cast<int64_t>(room.size());
  for (int64_t start = begin; start < end; start += kTile) {
    const int64_t stop = std::min<int64_t>(end, start + kTile);
    int64_t count = 0;
    for (int64_t i = start; i < stop; ++i) {
      tile[count] = i;
      count += mask[i] != 0;
    }
    if (count > left) return false;
    left -= count;
    to = std::copy_n(tile, count, to);
  }
  return left == 0;
}

/// Counts by pieces of the mask; each piece then knows where its places go.
int64_t find_true_kernel(const Context&, const TensorView& mask, const TensorView* out) {
  const auto* values = mask.as<const uint8_t>();
  const int64_t pieces = (mask.numel + kGrain - 1) / kGrain;
  CountedVector<int64_t> counts(static_cast<size_t>(pieces));
  const auto end_of = [&](int64_t piece) { return std::min(mask.numel, (piece + 1) * kGrain); };
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      counts[static_cast<size_t>(piece)] = count_true(values, piece * kGrain, end_of(piece));
    }
  });
  int64_t total = 0;
  for (int64_t& count : counts) total += std::exchange(count, total);
  if (out == nullptr || total != out->numel) return total;
  const std::span places(out->as<int64_t>(), static_cast<size_t>(total));
  counts.push_back(total);
  std::atomic<bool> is_whole{true};
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const auto begin = static_cast<size_t>(counts[static_cast<size_t>(piece)]);
      const auto end = static_cast<size_t>(counts[static_cast<size_t>(piece) + 1]);
      const bool fits =
          write_places(values, piece * kGrain, end_of(piece), places.subspan(begin, end - begin));
      if (!fits) is_whole.store(false, std::memory_order_relaxed);
    }
  });
  return is_whole ? total : -1;
}

/// Places of one row, of which many follow one another, have all numbers but the last in common:
/// only the first of them is divided by sizes.
void unravel_kernel(const Context&, const TensorView& flat, std::span<const int64_t> sizes,
                    const TensorView& out) {
  const size_t ndim = sizes.size();
  const auto* places = flat.as<const int64_t>();
  parallel_for(flat.numel, kGrain, [&](int64_t begin, int64_t end) {
    auto* to = out.as<int64_t>() + begin * static_cast<int64_t>(ndim);
    const int64_t* known = to;           // a place of the row
    int64_t row_begin = 0, row_end = 0;  // places of the row
    for (int64_t i = begin; i < end; ++i, to += ndim) {
      const int64_t place = places[i];
      if (place < row_begin || place >= row_end) {
        int64_t rest = place;
        for (size_t dim = ndim; dim-- > 0;) {
          to[dim] = rest % sizes[dim];
          rest /= sizes[dim];
        }
        row_begin = place - to[ndim - 1];
        row_end = row_begin + sizes[ndim - 1];
      } else {
        std::copy_n(known, ndim - 1, to);
        to[ndim - 1] = place - row_begin;
      }
      known = to;
    }
  });
}

/// Lowers `first` to `found`.
void note_first(std::atomic<int64_t>& first, int64_t found) {
  int64_t known = first.load();
  while (found < known && !first.compare_exchange_weak(known, found)) {
  }
}

int64_t combine_index_kernel(const Context&, const TensorView& index, int64_t size, bool is_first,
                             const TensorView& out) {
  if (out.numel == 0) return -1;
  const LoopShape shape(out);
  const StridedRange range(index, shape);
  auto* const to = out.as<int64_t>();
  std::atomic<int64_t> first_wrong{INT64_MAX};
  parallel_for(out.numel, kGrain, [&](int64_t begin, int64_t end) {
    int64_t tile[kTile];  // so that each index is read once
    for (int64_t start = begin; start < end; start += kTile) {
      const int64_t count = std::min<int64_t>(kTile, end - start);
      range.gather(start, count, tile);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t wrapped = tile[i] < 0 ? tile[i] + size : tile[i];
        if (!is_index(wrapped, size)) return note_first(first_wrong, start + i);
        to[start + i] = is_first ? wrapped : to[start + i] * size + wrapped;
      }
    }
  });
  return first_wrong == INT64_MAX ? -1 : first_wrong.load();
}

}  // namespace

void fill_index_places() {
  find_true_kernels.set_cpu(DType::boolean, &find_true_kernel);
  unravel_kernels.set_cpu(DType::int64, &unravel_kernel);
  combine_index_kernels.set_cpu(DType::int64, &combine_index_kernel);
}

}  // namespace ebb::kernels::cpu
