// ebb/kernels/cpu/index/random.cpp -- rand, randn and other draws from the counter-based sequence.
//
// One counter gives four words of 32 bits: four numbers of at most float32, or
// two of float64. So a real tensor uses at most one counter for two elements,
// and a complex one at most one for one (its parts are drawn like two real
// elements). Normal numbers come from the Box-Muller transform, in vectors. Words are made
// tile by tile; all other loops over them are plain and left to the compiler.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/math-inl.h"
#include "ebb/kernels/cpu/simd/philox-inl.h"
#include "ebb/kernels/cpu/simd/trig-inl.h"
#include "ebb/kernels/tables/cauchy.h"
#include "ebb/kernels/tables/exponential.h"
#include "ebb/kernels/tables/log_normal.h"
#include "ebb/kernels/tables/rand.h"
#include "ebb/kernels/tables/randn.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kNumbers = 256;  // in a tile
constexpr int64_t kRandomGrain = kGrain / 4;
static_assert(kRandomGrain % kNumbers == 0);

/// Bits of a uniform number: so many that none of them is rounded up to 1.
template <typename T>
constexpr int uniform_bits() {
  if constexpr (std::is_same_v<T, Half>) return 11;
  if constexpr (std::is_same_v<T, BFloat16>) return 8;
  return 24;
}

/// In [0, 1), a multiple of 2^-bits.
template <int bits>
float uniform(uint32_t word) {
  // Few enough bits for a signed number, which is quicker to convert.
  return static_cast<float>(static_cast<int32_t>(word >> (32 - bits))) *
         (1.0f / static_cast<float>(1u << bits));
}

/// Uniform numbers of a vector's words: of 24 bits, or of 53 from the two halves of 64.
template <class D>
HWY_INLINE hn::Vec<D> uniform_lanes(D d, hn::Vec<hn::RebindToUnsigned<D>> words) {
  const hn::RebindToSigned<D> di;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const auto whole = hn::BitCast(di, hn::ShiftRight<8>(words));
    return hn::Mul(hn::ConvertTo(d, whole), hn::Set(d, 0x1p-24f));
  } else {
    const auto word = hn::Or(hn::ShiftLeft<32>(words), hn::ShiftRight<32>(words));
    const auto whole = hn::BitCast(di, hn::ShiftRight<11>(word));
    return hn::Mul(hn::ConvertTo(d, whole), hn::Set(d, 0x1p-53));
  }
}

/// Makes `count` numbers, rounded up to an even count, of one word each, or two for float64. A sum
/// that was rounded up to the end of the interval, which is not part of it, becomes its start.
struct Uniform {
  double low, high;

  template <typename T>
  void fill(const uint32_t* words, float* numbers, int64_t count) const {
    const auto from = static_cast<float>(low), width = static_cast<float>(high - low);
    const auto end = static_cast<float>(high);
    for (int64_t i = 0; i < count; ++i) {
      const float number = from + uniform<uniform_bits<T>()>(words[i]) * width;
      numbers[i] = number >= end && width > 0 ? from : number;
    }
  }
  /// Whole vectors: `count` is rounded up to the lanes of one.
  template <typename T>
  void fill(const uint32_t* words, double* numbers, int64_t count) const {
    const hn::ScalableTag<double> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto* const pairs = reinterpret_cast<const uint64_t*>(words);
    const auto from = hn::Set(d, low), width = hn::Set(d, high - low);
    const auto end = hn::Set(d, high > low ? high : std::numeric_limits<double>::infinity());
    for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
      const auto part = uniform_lanes(d, hn::LoadU(du, pairs + i));
      const auto number = hn::Add(from, hn::Mul(part, width));
      hn::StoreU(hn::IfThenElse(hn::Lt(number, end), number, from), d, numbers + i);
    }
  }
};

struct Normal {
  double mean, deviation;

  /// Whole vectors: `count` is rounded up to twice as many numbers as there are lanes.
  template <typename T, typename Real>
  void fill(const uint32_t* words, Real* numbers, int64_t count) const {
    const hn::ScalableTag<Real> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    using Word = hn::TFromD<decltype(du)>;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto one = hn::Set(d, Real(1)), middle = hn::Set(d, static_cast<Real>(mean));
    const auto scale = hn::Set(d, static_cast<Real>(deviation));
    for (int64_t i = 0; i < count; i += 2 * lanes) {
      hn::Vec<decltype(du)> of_radius, of_angle;
      hn::LoadInterleaved2(du, reinterpret_cast<const Word*>(words) + i, of_radius, of_angle);
      // 1 - u lies in (0, 1], so that the logarithm is finite.
      const auto logarithm = log_of(d, hn::Sub(one, uniform_lanes(d, of_radius)));
      const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, Real(-2)), logarithm));
      const auto angle =
          hn::Mul(hn::Set(d, Real(6.283185307179586476925)), uniform_lanes(d, of_angle));
      const auto scaled = hn::Mul(scale, radius);
      hn::StoreInterleaved2(hn::MulAdd(scaled, cos_of(d, angle), middle),
                            hn::MulAdd(scaled, sin_of(d, angle), middle), d, numbers + i);
    }
  }
};

/// Numbers made of one uniform number each, which lies within (0, 1): neither end.
template <class Transform>
struct Transformed {
  Transform transform;

  template <typename T>
  void fill(const uint32_t* words, float* numbers, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      numbers[i] = transform(uniform<23>(words[i]) + 0x1p-24f);
    }
  }
  template <typename T>
  void fill(const uint32_t* words, double* numbers, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t word = uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
      numbers[i] =
          transform((static_cast<double>(static_cast<int64_t>(word >> 12)) + 0.5) * 0x1p-52);
    }
  }
};

struct Exponential {
  double rate;
  template <typename T>
  T operator()(T u) const {
    return -std::log(u) / static_cast<T>(rate);
  }
};

struct Cauchy {
  double median, sigma;
  template <typename T>
  T operator()(T u) const {
    const T angle = static_cast<T>(3.14159265358979323846) * (u - T(0.5));
    return static_cast<T>(median) + static_cast<T>(sigma) * std::tan(angle);
  }
};

struct LogNormal {
  Normal logs;

  template <typename T, typename Real>
  void fill(const uint32_t* words, Real* numbers, int64_t count) const {
    logs.fill<T>(words, numbers, count);
    const hn::ScalableTag<Real> d;
    for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
      hn::StoreU(exp_of(d, hn::LoadU(d, numbers + i)), d, numbers + i);
    }
  }
};

/// Fills `count` numbers of type T (complex ones are two each).
template <typename T, class Distribution>
void fill_random(const Distribution& distribution, const RandomState& state, T* out,
                 int64_t count) {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr int64_t kWords = std::is_same_v<T, double> ? 2 : 1;  // of a number
  parallel_for(count, kRandomGrain, [&](int64_t begin, int64_t end) {
    alignas(8) uint32_t words[kWords * kNumbers] = {};  // of a part tile some are read in vain
    Real numbers[kNumbers];
    for (int64_t first = begin; first < end; first += kNumbers) {
      const int64_t size = std::min(kNumbers, end - first);
      philox_words(state, static_cast<uint64_t>(first * kWords / 4),
                   static_cast<size_t>((size * kWords + 3) / 4), words);
      distribution.template fill<T>(words, numbers, size);
      for (int64_t i = 0; i < size; ++i) out[first + i] = convert<T>(numbers[i]);
    }
  });
}

template <typename T>
void rand_kernel(const Context&, const RandomState& state, double low, double high,
                 const TensorView& out) {
  if constexpr (is_complex_number<T>) {
    using Real = typename T::value_type;
    fill_random(Uniform{low, high}, state, out.as<Real>(), 2 * out.numel);
  } else {
    fill_random(Uniform{low, high}, state, out.as<T>(), out.numel);
  }
}

template <typename T>
void randn_kernel(const Context&, const RandomState& state, double mean, double deviation,
                  const TensorView& out) {
  if constexpr (is_complex_number<T>) {
    // The deviation is that of the complex number: each part has half of the
    // variance.
    using Real = typename T::value_type;
    const Normal parts{0.0, deviation * 0.70710678118654752440};
    fill_random(parts, state, out.as<Real>(), 2 * out.numel);
    for (int64_t i = 0; i < out.numel && mean != 0; ++i) out.as<T>()[i] += static_cast<Real>(mean);
  } else {
    fill_random(Normal{mean, deviation}, state, out.as<T>(), out.numel);
  }
}

template <typename T>
void exponential_kernel(const Context&, const RandomState& state, double rate, double,
                        const TensorView& out) {
  fill_random(Transformed<Exponential>{{rate}}, state, out.as<T>(), out.numel);
}

template <typename T>
void cauchy_kernel(const Context&, const RandomState& state, double median, double sigma,
                   const TensorView& out) {
  fill_random(Transformed<Cauchy>{{median, sigma}}, state, out.as<T>(), out.numel);
}

template <typename T>
void log_normal_kernel(const Context&, const RandomState& state, double mean, double deviation,
                       const TensorView& out) {
  fill_random(LogNormal{{mean, deviation}}, state, out.as<T>(), out.numel);
}

template <typename... T>
void set_real() {
  (exponential_kernels.set_cpu(dtype_of<T>, &exponential_kernel<T>), ...);
  (cauchy_kernels.set_cpu(dtype_of<T>, &cauchy_kernel<T>), ...);
  (log_normal_kernels.set_cpu(dtype_of<T>, &log_normal_kernel<T>), ...);
}

template <typename... T>
void set() {
  (rand_kernels.set_cpu(dtype_of<T>, &rand_kernel<T>), ...);
  (randn_kernels.set_cpu(dtype_of<T>, &randn_kernel<T>), ...);
}

}  // namespace

void fill_random() {
  set<Half, BFloat16, float, double, std::complex<float>, std::complex<double>>();
  set_real<Half, BFloat16, float, double>();
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
