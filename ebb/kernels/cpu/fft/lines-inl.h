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
#include <utility>

#include "ebb/kernels/cpu/fft/passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {

/// As many lines as there are lanes, or fewer: where their elements are, counted in real numbers.
template <typename T>
struct TileLines {
  static constexpr int64_t kNoImag = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMostLanes = HWY_MAX_BYTES / sizeof(T);
  T* at[kMostLanes];   // of missing lines: that of the first, which is read for them
  int64_t count;       // of lines
  int64_t step;        // from one element to the next
  int64_t imag;        // from a real part to its imaginary part, or kNoImag
  int64_t apart = -1;  // from a line to the next, if the same for all and the tile is full

  bool has_imag() const { return imag != kNoImag; }
  bool has_pairs_in_a_row() const { return step == 2 && imag == 1; }
  void find_apart(int64_t lanes) {
    for (int64_t lane = count; lane < lanes; ++lane) at[lane] = at[0];
    if (count != lanes || lanes == 1) return;
    const int64_t first = at[1] - at[0];
    for (int64_t lane = 2; lane < count; ++lane) {
      if (at[lane] - at[lane - 1] != first) return;
    }
    apart = first;
  }
};

/// Turns a square of words of 64 bits, a vector for each row. The compiler keeps the rows in
/// registers only if all indices are constants, hence no loops.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void turn_square([[maybe_unused]] D d, V* rows) {
  constexpr size_t kSide = hn::MaxLanes(D());
  const V low0 = hn::InterleaveLower(d, rows[0], rows[1]);   // columns 0, 2, .. of two rows
  const V high0 = hn::InterleaveUpper(d, rows[0], rows[1]);  // columns 1, 3, ..
  if constexpr (kSide == 2) {
    rows[0] = low0;
    rows[1] = high0;
    return;
  }
  const V low1 = hn::InterleaveLower(d, rows[2], rows[3]);
  const V high1 = hn::InterleaveUpper(d, rows[2], rows[3]);
  if constexpr (kSide == 4) {
    rows[0] = hn::ConcatLowerLower(d, low1, low0);
    rows[1] = hn::ConcatLowerLower(d, high1, high0);
    rows[2] = hn::ConcatUpperUpper(d, low1, low0);
    rows[3] = hn::ConcatUpperUpper(d, high1, high0);
  } else if constexpr (kSide == 8) {
    const V low2 = hn::InterleaveLower(d, rows[4], rows[5]);
    const V high2 = hn::InterleaveUpper(d, rows[4], rows[5]);
    const V low3 = hn::InterleaveLower(d, rows[6], rows[7]);
    const V high3 = hn::InterleaveUpper(d, rows[6], rows[7]);
    const auto put = [&](V even, V odd, V* row) HWY_ATTR {
      row[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even);
      row[2] = hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even));
    };
    put(hn::ConcatLowerLower(d, low2, low0), hn::ConcatLowerLower(d, low3, low1), rows);
    put(hn::ConcatLowerLower(d, high2, high0), hn::ConcatLowerLower(d, high3, high1), rows + 1);
    put(hn::ConcatUpperUpper(d, low2, low0), hn::ConcatUpperUpper(d, low3, low1), rows + 4);
    put(hn::ConcatUpperUpper(d, high2, high0), hn::ConcatUpperUpper(d, high3, high1), rows + 5);
  }
}

/// Whether squares of pairs may be turned: pairs of float32 are words of 64 bits.
template <class D>
inline constexpr bool has_words = sizeof(hn::TFromD<D>) == 4 && hn::MaxLanes(D()) >= 4 &&
                                  hn::MaxLanes(D()) <= 16 && HWY_TARGET <= HWY_SSSE3;

/// Two squares of pairs, of half the lines each: where pairs of all lanes come from or go to. Row w
/// of a square is what one line has at some places in a row; turned, what one place has in these
/// lines.
template <class D, typename T = hn::TFromD<D>>
struct PairSquares {
  static constexpr size_t kSide = hn::MaxLanes(D()) / 2;
  using Words = hn::Repartition<uint64_t, D>;
  hn::Vec<Words> low[kSide], high[kSide];

  /// The pairs of places in a row, from `offset` on.
  HWY_INLINE void read(D d, T* const* at, int64_t offset, Pair<D>* pairs) {
    load(d, at, offset, kRows);
    turn_square(Words(), low);
    turn_square(Words(), high);
    unzip(d, pairs, kRows);
  }
  HWY_INLINE void write(D d, const Pair<D>* pairs, T* const* at, int64_t offset, int64_t count) {
    zip(d, pairs, kRows);
    turn_square(Words(), low);
    turn_square(Words(), high);
    store(d, at, offset, count, kRows);
  }

 private:
  static constexpr auto kRows = std::make_index_sequence<kSide>();

  template <size_t... w>
  HWY_INLINE void load(D d, T* const* at, int64_t offset, std::index_sequence<w...>) {
    const Words words;
    ((low[w] = hn::BitCast(words, hn::LoadU(d, at[w] + offset))), ...);
    ((high[w] = hn::BitCast(words, hn::LoadU(d, at[kSide + w] + offset))), ...);
  }
  template <size_t... w>
  HWY_INLINE void unzip(D d, Pair<D>* pairs, std::index_sequence<w...>) const {
    ((pairs[w].re = hn::ConcatEven(d, hn::BitCast(d, high[w]), hn::BitCast(d, low[w]))), ...);
    ((pairs[w].im = hn::ConcatOdd(d, hn::BitCast(d, high[w]), hn::BitCast(d, low[w]))), ...);
  }
  template <size_t... w>
  HWY_INLINE void zip(D d, const Pair<D>* pairs, std::index_sequence<w...>) {
    const Words words;
    ((low[w] = hn::BitCast(words, hn::InterleaveLower(d, pairs[w].re, pairs[w].im))), ...);
    ((high[w] = hn::BitCast(words, hn::InterleaveUpper(d, pairs[w].re, pairs[w].im))), ...);
  }
  /// Zipping works on blocks of four lanes: the lower square has the first two of each block.
  static constexpr size_t zipped_lane(size_t word) { return word / 2 * 4 + word % 2; }
  template <size_t... w>
  HWY_INLINE void store(D d, T* const* at, int64_t offset, int64_t count,
                        std::index_sequence<w...>) const {
    const auto put = [&](hn::Vec<Words> row, size_t lane) HWY_ATTR {
      if (static_cast<int64_t>(lane) < count) hn::StoreU(hn::BitCast(d, row), d, at[lane] + offset);
    };
    (put(low[w], zipped_lane(w)), ...);
    (put(high[w], zipped_lane(w) + 2), ...);
  }
};

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
      for (int64_t begin = each_of_squares(count, use); begin < count; begin += kStaged) {
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
  /// As many elements as fill squares; returns how many of each line.
  template <class Use>
  HWY_INLINE int64_t each_of_squares(int64_t count, Use& use) {
    int64_t i = 0;
    if constexpr (has_words<D>) {
      if (!lines_.has_pairs_in_a_row()) return 0;
      constexpr int64_t kSide = PairSquares<D>::kSide;
      for (; i + kSide <= count; i += kSide) {
        PairSquares<D> squares;
        Pair<D> pairs[kSide];
        squares.read(d_, lines_.at, 2 * i, pairs);
        use_each(use, i, pairs, std::make_index_sequence<kSide>());
      }
    }
    return i;
  }
  template <class Use, size_t... k>
  static HWY_INLINE void use_each(Use& use, int64_t i, const Pair<D>* pairs,
                                  std::index_sequence<k...>) {
    (use(i + static_cast<int64_t>(k), pairs[k]), ...);
  }
  HWY_INLINE void gather(int64_t begin, int64_t some, int64_t lanes) {
    if (lines_.imag != 1) return gather_apart(begin, some, lanes);
    for (int64_t lane = 0; lane < lines_.count; ++lane) {
      const T* from = lines_.at[lane] + begin * lines_.step;
      T* to = stage_ + 2 * lane;
      for (int64_t i = 0; i < some; ++i, from += lines_.step, to += 2 * lanes) {
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
      for (int64_t begin = each_of_squares(count, give); begin < count; begin += kStaged) {
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
  /// As many elements as fill squares; returns how many of each line.
  template <class Give>
  HWY_INLINE int64_t each_of_squares(int64_t count, Give& give) {
    int64_t i = 0;
    if constexpr (has_words<D>) {
      if (!lines_.has_pairs_in_a_row()) return 0;
      constexpr int64_t kSide = PairSquares<D>::kSide;
      for (; i + kSide <= count; i += kSide) {
        PairSquares<D> squares;
        Pair<D> pairs[kSide];
        take_each(give, i, pairs, std::make_index_sequence<kSide>());
        squares.write(d_, pairs, lines_.at, 2 * i, lines_.count);
      }
    }
    return i;
  }
  template <class Give, size_t... k>
  static HWY_INLINE void take_each(Give& give, int64_t i, Pair<D>* pairs,
                                   std::index_sequence<k...>) {
    ((pairs[k] = give(i + static_cast<int64_t>(k))), ...);
  }
  HWY_INLINE void scatter(int64_t begin, int64_t some, int64_t lanes) {
    if (lines_.imag != 1) return scatter_apart(begin, some, lanes);
    for (int64_t lane = 0; lane < lines_.count; ++lane) {
      T* to = lines_.at[lane] + begin * lines_.step;
      const T* from = stage_ + 2 * lane;
      for (int64_t i = 0; i < some; ++i, to += lines_.step, from += 2 * lanes) {
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

  D d_;
  const TileLines<T>& lines_;
  HWY_ALIGN T stage_[kStaged * 2 * TileLines<T>::kMostLanes];
};

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // EBB_KERNELS_CPU_FFT_LINES_INL_H
