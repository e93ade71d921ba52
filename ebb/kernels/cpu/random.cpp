// ebb/kernels/cpu/random.cpp -- rand and randn from the counter-based sequence.
//
// One counter gives four words of 32 bits: four numbers of at most float32, or two of float64. So
// a real tensor uses at most one counter for two elements, and a complex one at most one for one
// (its parts are drawn like two real elements). Normal numbers come from the Box-Muller transform.
#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "ebb/core/parallel.h"
#include "ebb/kernels/cpu/convert.h"
#include "ebb/kernels/cpu/loops.h"
#include "ebb/kernels/cpu/register.h"
#include "ebb/kernels/tables.h"

namespace ebb::kernels::cpu {
namespace {

using Words = std::array<uint32_t, 4>;
constexpr float kTau = 6.283185307179586f;

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
  return static_cast<float>(word >> (32 - bits)) * (1.0f / static_cast<float>(1u << bits));
}
double uniform(uint32_t high, uint32_t low) {
  const uint64_t word = uint64_t{high} << 32 | low;
  return static_cast<double>(word >> 11) * 0x1p-53;
}

/// Numbers of one group: four of float32, two of float64.
template <typename Real>
inline constexpr int kPerGroup = std::is_same_v<Real, double> ? 2 : 4;

struct Uniform {
  double low, high;

  template <typename T>
  void group(const Words& words, float* numbers) const {
    const auto from = static_cast<float>(low), width = static_cast<float>(high - low);
    for (int i = 0; i < 4; ++i) {
      numbers[i] = from + uniform<uniform_bits<T>()>(words[i]) * width;
      // The sum may have been rounded up to the end of the interval, which is not part of it.
      if (numbers[i] >= static_cast<float>(high) && width > 0) numbers[i] = from;
    }
  }
  template <typename T>
  void group(const Words& words, double* numbers) const {
    numbers[0] = low + uniform(words[0], words[1]) * (high - low);
    numbers[1] = low + uniform(words[2], words[3]) * (high - low);
  }
};

struct Normal {
  double mean, deviation;

  template <typename T>
  void group(const Words& words, float* numbers) const {
    const auto middle = static_cast<float>(mean), scale = static_cast<float>(deviation);
    for (int i = 0; i < 4; i += 2) {
      // 1 - u lies in (0, 1], so that the logarithm is finite.
      const float radius = std::sqrt(-2.0f * std::log(1.0f - uniform<24>(words[i])));
      const float angle = kTau * uniform<24>(words[i + 1]);
      numbers[i] = middle + scale * radius * std::cos(angle);
      numbers[i + 1] = middle + scale * radius * std::sin(angle);
    }
  }
  template <typename T>
  void group(const Words& words, double* numbers) const {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(words[0], words[1])));
    const double angle = 6.283185307179586476925 * uniform(words[2], words[3]);
    numbers[0] = mean + deviation * radius * std::cos(angle);
    numbers[1] = mean + deviation * radius * std::sin(angle);
  }
};

/// Fills `count` numbers of type T (complex ones are two each).
template <typename T, class Distribution>
void fill_random(const Distribution& distribution, const RandomState& state, T* out,
                 int64_t count) {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr int64_t per_group = kPerGroup<Real>;
  const int64_t groups = (count + per_group - 1) / per_group;
  parallel_for(groups, kGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      Real numbers[per_group];
      distribution.template group<T>(random_words(state, static_cast<uint64_t>(group)), numbers);
      const int64_t first = group * per_group;
      for (int64_t i = first; i < std::min(count, first + per_group); ++i) {
        out[i] = convert<T>(numbers[i - first]);
      }
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
    // The deviation is that of the complex number: each part has half of the variance.
    using Real = typename T::value_type;
    const Normal parts{0.0, deviation * 0.70710678118654752440};
    fill_random(parts, state, out.as<Real>(), 2 * out.numel);
    for (int64_t i = 0; i < out.numel && mean != 0; ++i) out.as<T>()[i] += static_cast<Real>(mean);
  } else {
    fill_random(Normal{mean, deviation}, state, out.as<T>(), out.numel);
  }
}

template <typename T>
void set() {
  rand_kernels.set_cpu(dtype_of<T>, &rand_kernel<T>);
  randn_kernels.set_cpu(dtype_of<T>, &randn_kernel<T>);
}

}  // namespace

void fill_random() {
  set<Half>();
  set<BFloat16>();
  set<float>();
  set<double>();
  set<std::complex<float>>();
  set<std::complex<double>>();
}

}  // namespace ebb::kernels::cpu
