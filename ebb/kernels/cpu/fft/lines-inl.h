// ebb/kernels/cpu/fft/lines-inl.h -- between lines of tensors, of any strides, and tiles of pairs.
//
// A lane is a line of a tensor. Where the lanes lie side by side they are read as vectors; else
// some elements of each line are brought together first (`stage_`), or taken apart afterwards: as
// squares of pairs that are turned where the elements of a line lie side by side.
// Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_FFT_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_FFT_LINES_INL_H
#undef EBB_KERNELS_CPU_FFT_LINES_INL_H
#else
#define EBB_KERNELS_CPU_FFT_LINES_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ebb/kernels/cpu/fft/passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// As many lines as there are lanes, or fewer: where their elements are, counted in real numbers.
template <typename T>
struct TileLines {
  static constexpr int64_t kNoImag = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMostLanes = HWY_MAX_BYTES / sizeof(T);
  T* at[kMostLanes];
  int64_t count;       // of lines
  int64_t step;        // from one element to the next
  int64_t imag;        // from a real part to its imaginary part, or kNoImag
  int64_t apart = -1;  // from a line to the next, if the same for all and the tile is full

  bool has_imag() const { return imag != kNoImag; }
  void find_apart(int64_t lanes) {
    if (count != lanes || lanes == 1) return;
    const int64_t first = at[1] - at[0];
    for (int64_t lane = 2; lane < count; ++lane) {
      if (at[lane] - at[lane - 1] != first) return;
    }
    apart = first;
  }
};

/// Turns a square of words of 64 bits, a vector for each row.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void turn_square([[maybe_unused]] D d, V* rows) {
  constexpr size_t kSide = hn::MaxLanes(D());
  V low[kSide / 2 + 1], high[kSide / 2 + 1];  // columns 0, 2, .. and 1, 3, .. of two rows
  for (size_t i = 0; i < kSide / 2; ++i) {
    low[i] = hn::InterleaveLower(d, rows[2 * i], rows[2 * i + 1]);
    high[i] = hn::InterleaveUpper(d, rows[2 * i], rows[2 * i + 1]);
  }
  if constexpr (kSide == 2) {
    rows[0] = low[0];
    rows[1] = high[0];
  } else if constexpr (kSide == 4) {
    rows[0] = hn::ConcatLowerLower(d, low[1], low[0]);
    rows[1] = hn::ConcatLowerLower(d, high[1], high[0]);
    rows[2] = hn::ConcatUpperUpper(d, low[1], low[0]);
    rows[3] = hn::ConcatUpperUpper(d, high[1], high[0]);
  } else {
    static_assert(kSide == 8);
    const auto put = [&](V even, V odd, size_t row) HWY_ATTR {
      rows[row] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even);
      rows[row + 2] = hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even));
    };
    put(hn::ConcatLowerLower(d, low[2], low[0]), hn::ConcatLowerLower(d, low[3], low[1]), 0);
    put(hn::ConcatLowerLower(d, high[2], high[0]), hn::ConcatLowerLower(d, high[3], high[1]), 1);
    put(hn::ConcatUpperUpper(d, low[2], low[0]), hn::ConcatUpperUpper(d, low[3], low[1]), 4);
    put(hn::ConcatUpperUpper(d, high[2], high[0]), hn::ConcatUpperUpper(d, high[3], high[1]), 5);
  }
}

/// Turns pairs of lines, some at a time of as many lines, and returns how many of each line. Row k
/// of the square at a lane and a place is read at from(lane, place, k) and written at to(lane,
/// place, k).
template <class D, class From, class To>
HWY_INLINE int64_t turn_squares(D d, int64_t some, int64_t lanes, From from, To to) {
  const hn::Repartition<uint64_t, D> words;
  constexpr int64_t kSide = hn::MaxLanes(D()) / 2;
  int64_t i = 0;
  for (; i + kSide <= some; i += kSide) {
    for (int64_t lane = 0; lane < lanes; lane += kSide) {
      hn::Vec<decltype(words)> rows[kSide];
      for (int64_t k = 0; k < kSide; ++k) {
        rows[k] = hn::BitCast(words, hn::LoadU(d, from(lane, i, k)));
      }
      turn_square(words, rows);
      for (int64_t k = 0; k < kSide; ++k) {
        hn::StoreU(hn::BitCast(d, rows[k]), d, to(lane, i, k));
      }
    }
  }
  return i;
}

/// Whether squares of pairs may be turned: pairs of float32 are words of 64 bits.
template <class D>
inline constexpr bool has_words = sizeof(hn::TFromD<D>) == 4 && hn::MaxLanes(D()) >= 4 &&
                                  hn::MaxLanes(D()) <= 16 && HWY_TARGET <= HWY_SSSE3;

inline constexpr int64_t kStaged = 16;  // elements of each line at a time

template <class D, typename T = hn::TFromD<D>>
class LineReader {
 public:
  LineReader(D d, const TileLines<T>& lines) : d_(d), lines_(lines) {}

  /// Calls use(i, pair) for all elements in order.
  template <class Use>
  HWY_INLINE void each(int64_t count, Use&& use) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d_));
    if (lanes == 1 || (lines_.apart == 1 && lines_.imag != 1)) {
      for (int64_t i = 0; i < count; ++i) use(i, parts(i));
    } else if (lines_.apart == 2 && lines_.imag == 1) {
      for (int64_t i = 0; i < count; ++i) {
        Pair<D> found;
        hn::LoadInterleaved2(d_, lines_.at[0] + i * lines_.step, found.re, found.im);
        use(i, found);
      }
    } else {
      if (lines_.count < lanes) std::fill_n(stage_, kStaged * 2 * lanes, T(0));
      for (int64_t begin = 0; begin < count; begin += kStaged) {
        const int64_t some = std::min(kStaged, count - begin);
        gather(begin, some, lanes);
        for (int64_t i = 0; i < some; ++i) {
          Pair<D> found;
          hn::LoadInterleaved2(d_, stage_ + i * 2 * lanes, found.re, found.im);
          use(begin + i, found);
        }
      }
    }
  }

 private:
  HWY_INLINE Pair<D> parts(int64_t i) const {
    const T* const at = lines_.at[0] + i * lines_.step;
    return {hn::LoadU(d_, at), !lines_.has_imag() ? hn::Zero(d_) : hn::LoadU(d_, at + lines_.imag)};
  }
  HWY_INLINE void gather(int64_t begin, int64_t some, int64_t lanes) {
    if (lines_.imag != 1) return gather_apart(begin, some, lanes);
    int64_t done = 0;
    if constexpr (has_words<D>) {
      if (lines_.step == 2 && lines_.count == lanes) done = gather_squares(begin, some, lanes);
    }
    for (int64_t lane = 0; lane < lines_.count && done < some; ++lane) {
      const T* from = lines_.at[lane] + (begin + done) * lines_.step;
      T* to = stage_ + 2 * (done * lanes + lane);
      for (int64_t i = done; i < some; ++i, from += lines_.step, to += 2 * lanes) {
        std::memcpy(to, from, 2 * sizeof(T));
      }
    }
  }
  HWY_INLINE void gather_apart(int64_t begin, int64_t some, int64_t lanes) {
    for (int64_t lane = 0; lane < lines_.count; ++lane) {
      const T* from = lines_.at[lane] + begin * lines_.step;
      T* to = stage_ + 2 * lane;
      for (int64_t i = 0; i < some; ++i, from += lines_.step, to += 2 * lanes) {
        to[0] = from[0];
        to[1] = !lines_.has_imag() ? T(0) : from[lines_.imag];
      }
    }
  }
  /// Pairs side by side, some at a time of as many lines; returns how many of each line.
  HWY_INLINE int64_t gather_squares(int64_t begin, int64_t some, int64_t lanes) {
    const auto of_lines = [&](int64_t lane, int64_t i, int64_t k) {
      return lines_.at[lane + k] + 2 * (begin + i);
    };
    const auto of_stage = [&](int64_t lane, int64_t i, int64_t k) {
      return stage_ + 2 * ((i + k) * lanes + lane);
    };
    return turn_squares(d_, some, lanes, of_lines, of_stage);
  }

  D d_;
  const TileLines<T>& lines_;
  HWY_ALIGN T stage_[kStaged * 2 * TileLines<T>::kMostLanes];
};

template <class D, typename T = hn::TFromD<D>>
class LineWriter {
 public:
  LineWriter(D d, const TileLines<T>& lines) : d_(d), lines_(lines) {}

  /// Writes what give(i) returns to all elements in order.
  template <class Give>
  HWY_INLINE void each(int64_t count, Give&& give) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d_));
    if (lanes == 1 || (lines_.apart == 1 && lines_.imag != 1)) {
      for (int64_t i = 0; i < count; ++i) {
        const Pair<D> found = give(i);
        T* const at = lines_.at[0] + i * lines_.step;
        hn::StoreU(found.re, d_, at);
        if (lines_.has_imag()) hn::StoreU(found.im, d_, at + lines_.imag);
      }
    } else if (lines_.apart == 2 && lines_.imag == 1) {
      for (int64_t i = 0; i < count; ++i) {
        const Pair<D> found = give(i);
        hn::StoreInterleaved2(found.re, found.im, d_, lines_.at[0] + i * lines_.step);
      }
    } else {
      for (int64_t begin = 0; begin < count; begin += kStaged) {
        const int64_t some = std::min(kStaged, count - begin);
        for (int64_t i = 0; i < some; ++i) {
          const Pair<D> found = give(begin + i);
          hn::StoreInterleaved2(found.re, found.im, d_, stage_ + i * 2 * lanes);
        }
        scatter(begin, some, lanes);
      }
    }
  }

 private:
  HWY_INLINE void scatter(int64_t begin, int64_t some, int64_t lanes) {
    if (lines_.imag != 1) return scatter_apart(begin, some, lanes);
    int64_t done = 0;
    if constexpr (has_words<D>) {
      if (lines_.step == 2 && lines_.count == lanes) done = scatter_squares(begin, some, lanes);
    }
    for (int64_t lane = 0; lane < lines_.count && done < some; ++lane) {
      T* to = lines_.at[lane] + (begin + done) * lines_.step;
      const T* from = stage_ + 2 * (done * lanes + lane);
      for (int64_t i = done; i < some; ++i, to += lines_.step, from += 2 * lanes) {
        std::memcpy(to, from, 2 * sizeof(T));
      }
    }
  }
  HWY_INLINE void scatter_apart(int64_t begin, int64_t some, int64_t lanes) {
    for (int64_t lane = 0; lane < lines_.count; ++lane) {
      T* to = lines_.at[lane] + begin * lines_.step;
      const T* from = stage_ + 2 * lane;
      for (int64_t i = 0; i < some; ++i, to += lines_.step, from += 2 * lanes) {
        to[0] = from[0];
        if (lines_.has_imag()) to[lines_.imag] = from[1];
      }
    }
  }
  HWY_INLINE int64_t scatter_squares(int64_t begin, int64_t some, int64_t lanes) {
    const auto of_lines = [&](int64_t lane, int64_t i, int64_t k) {
      return lines_.at[lane + k] + 2 * (begin + i);
    };
    const auto of_stage = [&](int64_t lane, int64_t i, int64_t k) {
      return stage_ + 2 * ((i + k) * lanes + lane);
    };
    return turn_squares(d_, some, lanes, of_stage, of_lines);
  }

  D d_;
  const TileLines<T>& lines_;
  HWY_ALIGN T stage_[kStaged * 2 * TileLines<T>::kMostLanes];
};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_FFT_LINES_INL_H
