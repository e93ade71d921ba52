// ebb/kernels/cpu/fft/lines-inl.h -- between lines of tensors, of any strides, and tiles of pairs.
//
// A lane is a line of a tensor. Where the lanes lie side by side they are read as vectors; else
// some elements of each line are brought together first (Stage), or taken apart afterwards.
// Included once per target (see each_target.h).
#if defined(EBB_KERNELS_CPU_FFT_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EBB_KERNELS_CPU_FFT_LINES_INL_H
#undef EBB_KERNELS_CPU_FFT_LINES_INL_H
#else
#define EBB_KERNELS_CPU_FFT_LINES_INL_H
#endif

#include <algorithm>
#include <cstdint>
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
