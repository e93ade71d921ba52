// ebb/kernels/cpu/fft/fft.cpp -- Fourier transforms along one dim, of complex and real numbers.
//
// Many short lines: as many as there are lanes make a tile, each lane one line. Long lines, or few:
// one after the other, each as rows and columns whose tiles fill the lanes (LongLine). An even
// number n of real numbers is a line of n / 2 complex ones, whose spectrum is then taken apart.
// Start reading at run_lines(). Which way a line goes depends on sizes alone.
#include <algorithm>
#include <complex>
#include <type_traits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/fft/lines-inl.h"
#include "ebb/kernels/cpu/fft/passes-inl.h"
#include "ebb/kernels/cpu/fft/plan.h"
#include "ebb/kernels/cpu/fft/tensor_lines.h"
#include "ebb/kernels/tables/fft_c2c.h"
#include "ebb/kernels/tables/fft_c2r.h"
#include "ebb/kernels/tables/fft_r2c.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kPieceWork = 16384;   // elements that a thread takes at least
constexpr int64_t kLongestTile = 8192;  // elements of a line that is transformed lane by lane
constexpr int64_t kShortTile = 512;     // up to here a quarter of all lanes is worth a tile

template <typename T>
using Full = hn::ScalableTag<T>;
template <typename T>
using Single = hn::CappedTag<T, 1>;

/// Two lines of memory: of pairs of all lanes.
template <typename T>
class Buffers {
 public:
  Buffers(int64_t room, int64_t lanes)
      : memory_(static_cast<size_t>(4 * room * lanes) * sizeof(T)),
        line(memory_.template as<T>()),
        other(line + 2 * room * lanes) {}

 private:
  Scratch memory_;

 public:
  T* line;
  T* other;
};

template <class D>
HWY_INLINE Pair<D> exchanged(Pair<D> pair, bool exchange) {
  return exchange ? Pair<D>{pair.im, pair.re} : pair;
}

/// One line in memory: where it begins, and the steps to the next element and to the imaginary
/// part, counted in real numbers (TileLines).
template <typename T>
struct Line {
  T* at;
  int64_t step = 2;
  int64_t imag = 1;

  /// Some of its elements, from `first` on, as the beginnings of lines whose steps are `stride`.
  TileLines<T> tile(int64_t first, int64_t count, int64_t apart, int64_t stride,
                    int64_t lanes) const {
    TileLines<T> lines{{}, count, stride * step, imag};
    for (int64_t lane = 0; lane < count; ++lane)
      lines.at[lane] = at + (first + lane) * apart * step;
    lines.find_apart(lanes);
    return lines;
  }
};

/// One line of complex numbers, cut into rows and columns: columns are transformed, turned, and
/// rows then; each tile by any thread. Parts are exchanged on both ways if `exchange`.
template <typename T>
class LongLine {
 public:
  LongLine(const FftPlan<T>& plan, bool exchange, T scale)
      : plan_(plan), exchange_(exchange), scale_(scale) {}

  /// `middle` has room for as many pairs; it may be the memory of `in` if that lies side by side.
  void run(const Line<T>& in, T* middle, const Line<T>& out) const {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(Full<T>()));
    const Line<T> between{middle};
    const int64_t rows = plan_.rows, columns = plan_.columns;
    each_tile(columns, rows, [&](int64_t first) {
      const int64_t count = std::min(lanes, columns - first);
      run_columns(in.tile(first, count, 1, columns, lanes),
                  between.tile(first, count, 1, columns, lanes), first);
    });
    each_tile(rows, columns, [&](int64_t first) {
      const int64_t count = std::min(lanes, rows - first);
      run_rows(between.tile(first, count, columns, 1, lanes),
               out.tile(first, count, 1, rows, lanes));
    });
  }

 private:
  template <class Body>
  static void each_tile(int64_t count, int64_t length, Body&& body) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(Full<T>()));
    const int64_t tiles = (count - 1) / lanes + 1;
    parallel_for(tiles, kPieceWork / (lanes * length) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) body(tile * lanes);
    });
  }

  void run_columns(const TileLines<T>& from, const TileLines<T>& to, int64_t first) const {
    const Full<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    static_assert(hn::MaxLanes(Full<T>()) <= kTurnColumns);
    Buffers<T> buffers(plan_.rows, lanes);
    LineReader reader(d, from);
    reader.each(plan_.rows, [&](int64_t i, Pair<Full<T>> pair) {
      store_pair(d, exchanged<Full<T>>(pair, exchange_), buffers.line, i);
    });
    transform_tile(d, *plan_.of_columns, buffers.line, buffers.other);
    const T* const turns = plan_.turns.data() +
                           first / kTurnColumns * plan_.rows * 2 * kTurnColumns +
                           first % kTurnColumns;
    LineWriter writer(d, to);
    writer.each(plan_.rows, [&](int64_t i) {
      const T* const turn = turns + 2 * kTurnColumns * i;
      return product<Full<T>>(load_pair(d, buffers.line, i),
                              {hn::LoadU(d, turn), hn::LoadU(d, turn + kTurnColumns)});
    });
  }

  void run_rows(const TileLines<T>& from, const TileLines<T>& to) const {
    const Full<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    Buffers<T> buffers(plan_.columns, lanes);
    LineReader reader(d, from);
    reader.each(plan_.columns,
                [&](int64_t i, Pair<Full<T>> pair) { store_pair(d, pair, buffers.line, i); });
    transform_tile(d, *plan_.of_rows, buffers.line, buffers.other);
    LineWriter writer(d, to);
    writer.each(plan_.columns, [&](int64_t i) {
      return scaled(d, exchanged<Full<T>>(load_pair(d, buffers.line, i), exchange_), scale_);
    });
  }

  const FftPlan<T>& plan_;
  bool exchange_;
  T scale_;
};

/// The transform of a tile; of one line alone by its rows and columns.
template <class D, typename T = hn::TFromD<D>>
void transform_smooth(D d, const FftPlan<T>& plan, T*& line, T*& other) {
  if constexpr (std::is_same_v<D, Single<T>>) {
    if (plan.rows != 0) {
      LongLine<T>(plan, false, T(1)).run({line}, line, {other});
      std::swap(line, other);
      return;
    }
  }
  transform_tile(d, plan, line, other);
}

template <class D, typename T = hn::TFromD<D>>
void transform(D d, const FftPlan<T>& plan, Buffers<T>& buffers) {
  if (plan.padded == nullptr) return transform_smooth(d, plan, buffers.line, buffers.other);
  transform_chirp(d, plan, buffers.line, buffers.other,
                  [d](const FftPlan<T>& smooth, T*& line, T*& other) {
                    transform_smooth(d, smooth, line, other);
                  });
}

/// What a call is, for each of its lines.
template <typename T>
struct Job {
  const FftPlan<T>& plan;
  int64_t length;  // of the longer line
  bool forward;
  T scale;
  int64_t written;  // elements of a line of the result
};

template <class D>
HWY_INLINE Pair<D> conjugate(Pair<D> pair, bool is_wanted = true) {
  return is_wanted ? Pair<D>{pair.re, hn::Neg(pair.im)} : pair;
}

struct ComplexToComplex {
  template <class D, typename T>
  static void run(D d, const Job<T>& job, const TileLines<T>& in, const TileLines<T>& out) {
    if constexpr (std::is_same_v<D, Single<T>>) {
      if (job.plan.rows != 0) {
        const Scratch middle(static_cast<size_t>(2 * job.length) * sizeof(T));
        return LongLine<T>(job.plan, !job.forward, job.scale)
            .run({in.at[0], in.step, in.imag}, middle.template as<T>(),
                 {out.at[0], out.step, out.imag});
      }
    }
    Buffers<T> buffers(job.plan.room(), static_cast<int64_t>(hn::Lanes(d)));
    LineReader reader(d, in);
    reader.each(job.length, [&](int64_t i, Pair<D> pair) {
      store_pair(d, exchanged(pair, !job.forward), buffers.line, i);
    });
    transform(d, job.plan, buffers);
    LineWriter writer(d, out);
    writer.each(job.length, [&](int64_t i) {
      return scaled(d, exchanged<D>(load_pair(d, buffers.line, i), !job.forward), job.scale);
    });
  }
};

/// A backward transform of real numbers is the conjugate of the forward one.
struct RealToComplex {
  template <class D, typename T>
  static void run(D d, const Job<T>& job, const TileLines<T>& in, const TileLines<T>& out) {
    const int64_t room = std::max(job.plan.room(), job.length / 2 + 1);
    Buffers<T> buffers(room, static_cast<int64_t>(hn::Lanes(d)));
    const bool is_even = job.length % 2 == 0;
    TileLines<T> pairs = in;
    if (is_even) {
      pairs.imag = in.step;
      pairs.step = 2 * in.step;
    }
    LineReader reader(d, pairs);
    reader.each(job.plan.length,
                [&](int64_t i, Pair<D> pair) { store_pair(d, pair, buffers.line, i); });
    transform(d, job.plan, buffers);
    T* const line = buffers.line;
    if (is_even) {
      take_apart(d, job, line);
    } else {
      for (int64_t i = 0; i <= job.length / 2; ++i)
        store_pair(d, finished(d, job, load_pair(d, line, i), job.scale), line, i);
    }
    LineWriter writer(d, out);
    writer.each(job.written, [&](int64_t i) {
      const bool is_mirrored = 2 * i > job.length;
      const Pair<D> found = load_pair(d, line, is_mirrored ? job.length - i : i);
      return conjugate<D>(found, is_mirrored);
    });
  }

 private:
  template <class D, typename T>
  static HWY_INLINE Pair<D> finished(D d, const Job<T>& job, Pair<D> pair, T scale) {
    return {hn::Mul(pair.re, hn::Set(d, scale)),
            hn::Mul(pair.im, hn::Set(d, job.forward ? scale : -scale))};
  }

  /// The spectrum from those of even and of odd elements, which are in one: elements k and half - k
  /// come of the same two.
  template <class D, typename T>
  static void take_apart(D d, const Job<T>& job, T* line) {
    const int64_t half = job.plan.length;
    const T scale = job.scale / 2;
    const Pair<D> first = load_pair(d, line, 0);
    const Pair<D> zero{hn::Zero(d), hn::Zero(d)};
    const Pair<D> evens{hn::Add(first.re, first.re), zero.im};
    const Pair<D> odds{hn::Add(first.im, first.im), zero.im};
    store_pair(d, finished(d, job, sum<D>(evens, odds), scale), line, 0);
    store_pair(d, finished(d, job, difference<D>(evens, odds), scale), line, half);
    for (int64_t k = 1; 2 * k <= half; ++k) {
      const Pair<D> here = load_pair(d, line, k);
      const Pair<D> there = conjugate<D>(load_pair(d, line, half - k));
      const Pair<D> turn = splat(d, job.plan.real_turns.data() + 2 * k);
      const Pair<D> even = sum<D>(here, there);
      const Pair<D> odd = product<D>(difference<D>(here, there), turn);
      store_pair(d, finished(d, job, conjugate<D>(plus_i<D>(even, odd)), scale), line, half - k);
      store_pair(d, finished(d, job, minus_i<D>(even, odd), scale), line, k);
    }
  }
};

/// A forward transform of half a spectrum is the backward one of its conjugate.
struct ComplexToReal {
  template <class D, typename T>
  static void run(D d, const Job<T>& job, const TileLines<T>& in, const TileLines<T>& out) {
    const bool is_even = job.length % 2 == 0;
    const int64_t half = job.length / 2;
    const int64_t room = std::max(job.plan.room(), half + 1);
    Buffers<T> buffers(room, static_cast<int64_t>(hn::Lanes(d)));
    LineReader reader(d, in);
    reader.each(half + 1, [&](int64_t i, Pair<D> pair) {
      if (i == 0 || 2 * i == job.length) pair.im = hn::Zero(d);
      store_pair(d, conjugate(pair, job.forward), buffers.other, i);
    });
    for (int64_t i = 0; i < job.plan.length; ++i) {
      const Pair<D> found = is_even     ? joined(d, job, buffers.other, i)
                            : i <= half ? load_pair(d, buffers.other, i)
                                        : conjugate<D>(load_pair(d, buffers.other, job.length - i));
      store_pair(d, exchanged(found, true), buffers.line, i);
    }
    transform(d, job.plan, buffers);
    TileLines<T> pairs = out;
    if (is_even) {
      pairs.imag = out.step;
      pairs.step = 2 * out.step;
    }
    LineWriter writer(d, pairs);
    writer.each(job.plan.length, [&](int64_t i) {
      return scaled(d, exchanged<D>(load_pair(d, buffers.line, i), true), job.scale);
    });
  }

 private:
  /// Element k of the spectrum of pairs of an even and an odd element.
  template <class D, typename T>
  static HWY_INLINE Pair<D> joined(D d, const Job<T>& job, const T* line, int64_t k) {
    const Pair<D> here = load_pair(d, line, k);
    const Pair<D> there = conjugate<D>(load_pair(d, line, job.plan.length - k));
    const Pair<D> turn = conjugate<D>(splat(d, job.plan.real_turns.data() + 2 * k));
    return plus_i<D>(sum<D>(here, there), product<D>(difference<D>(here, there), turn));
  }
};

/// Lines from `first` on.
template <typename T>
TileLines<T> tile_of(const LinesOfTensor& lines, int64_t first, int64_t lanes) {
  const int64_t width = lines.is_complex ? 2 : 1;
  TileLines<T> tile{{},
                    std::min(lanes, lines.count() - first),
                    lines.step * width,
                    lines.is_complex ? 1 : TileLines<T>::kNoImag};
  for (int64_t lane = 0; lane < tile.count; ++lane) {
    tile.at[lane] = static_cast<T*>(lines.data) + width * lines.offset(first + lane);
  }
  tile.find_apart(lanes);
  return tile;
}

template <class Kind, class D, typename T>
void run_tiles(D d, const Job<T>& job, const LinesOfTensor& in, const LinesOfTensor& out) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t tiles = (in.count() - 1) / lanes + 1;
  parallel_for(tiles, kPieceWork / (lanes * job.length) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      Kind::run(d, job, tile_of<T>(in, tile * lanes, lanes), tile_of<T>(out, tile * lanes, lanes));
    }
  });
}

template <class Kind, typename T>
void run_lines(const TensorView& input, int dim, bool forward, double scale,
               const TensorView& out) {
  if (out.numel == 0) return;
  LinesOfTensor in_lines(input, dim), out_lines(out, dim);
  in_lines.sort_with(out_lines);
  const int64_t length = std::max(in_lines.size, out_lines.size);
  const bool is_packed = in_lines.is_complex != out_lines.is_complex && length % 2 == 0;
  const auto plan = fft_plan<T>(is_packed ? length / 2 : length);
  const Job<T> job{*plan, length, forward, static_cast<T>(scale), out_lines.size};
  const FftPlan<T>& smooth = plan->padded == nullptr ? *plan : *plan->padded;
  const auto lanes = static_cast<int64_t>(hn::Lanes(Full<T>()));
  const int64_t fewest = smooth.length <= kShortTile ? lanes / 4 : lanes / 2 + 1;
  const bool is_few = in_lines.count() < fewest;
  if (smooth.rows != 0 && (is_few || smooth.length > kLongestTile)) {
    run_tiles<Kind>(Single<T>(), job, in_lines, out_lines);
  } else {
    run_tiles<Kind>(Full<T>(), job, in_lines, out_lines);
  }
}

template <class Kind, typename T>
void fft_kernel(const Context&, const TensorView& input, int dim, bool forward, double scale,
                const TensorView& out) {
  run_lines<Kind, T>(input, dim, forward, scale, out);
}

template <typename... T>
void set() {
  (fft_c2c_kernels.set_cpu(dtype_of<std::complex<T>>, &fft_kernel<ComplexToComplex, T>), ...);
  (fft_r2c_kernels.set_cpu(dtype_of<T>, &fft_kernel<RealToComplex, T>), ...);
  (fft_c2r_kernels.set_cpu(dtype_of<std::complex<T>>, &fft_kernel<ComplexToReal, T>), ...);
}

}  // namespace

void fill_fft() { set<float, double>(); }

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
