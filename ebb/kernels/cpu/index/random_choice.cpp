// ebb/kernels/cpu/index/random_choice.cpp -- random integers, permutations, draws by weight.
//
// Whatever is drawn depends on the state and the position alone. Without replacement, category i
// gets the waiting time of an event of rate weight[i], and the first ones win: this draws them one
// after the other with the right probabilities, but needs no sum.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tables/geometric.h"
#include "ebb/kernels/tables/multinomial.h"
#include "ebb/kernels/tables/randint.h"
#include "ebb/kernels/tables/randperm.h"

namespace ebb::kernels::cpu {
namespace {

/// Number `index` of the sequence of 64-bit words, two to a counter.
uint64_t wide_word(const RandomState& state, uint64_t index) {
  const auto words = random_words(state, index / 2);
  const size_t half = index % 2 * 2;
  return uint64_t{words[half]} << 32 | words[half + 1];
}

/// In [0, 1), a multiple of 2^-53.
double uniform(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// In [0, range): the upper half of a product, which favours no number by more than 2^-64. A range
/// of 0 stands for 2^64.
uint64_t below(uint64_t word, uint64_t range) {
  if (range == 0) return word;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(word) * range >> 64);
}

template <typename T>
void randint_kernel(const Context&, const RandomState& state, int64_t low, uint64_t range,
                    const TensorView& out) {
  parallel_for(out.numel, kGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t number = below(wide_word(state, static_cast<uint64_t>(i)), range);
      out.as<T>()[i] = convert<T>(static_cast<int64_t>(static_cast<uint64_t>(low) + number));
    }
  });
}

/// What T holds of a number from 1 on: at most its largest number.
template <typename T>
T saturated(double number) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (number >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
  }
  return convert<T>(number);
}

/// Trials up to the first success, of probability `p`.
template <typename T>
void geometric_kernel(const Context&, const RandomState& state, double p, double,
                      const TensorView& out) {
  const double scale = std::log1p(-p);
  parallel_for(out.numel, kGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // 1 - u lies in (0, 1].
      const double wait = std::log1p(-uniform(wide_word(state, static_cast<uint64_t>(i)))) / scale;
      out.as<T>()[i] = saturated<T>(std::max(1.0, std::ceil(wait)));
    }
  });
}

void randperm_kernel(const Context&, const RandomState& state, const TensorView& out) {
  auto* const numbers = out.as<int64_t>();
  std::iota(numbers, numbers + out.numel, int64_t{0});
  for (int64_t last = out.numel - 1; last > 0; --last) {
    const uint64_t word = wide_word(state, static_cast<uint64_t>(last));
    std::swap(numbers[last], numbers[below(word, static_cast<uint64_t>(last) + 1)]);
  }
}

/// One row with replacement: each draw looks its number up in the running sums.
void draw_again(const double* weights, int64_t categories, const RandomState& state, uint64_t first,
                int64_t draws, double* sums, int64_t* out) {
  std::partial_sum(weights, weights + categories, sums);
  const double total = sums[categories - 1];
  // Rounding might give the total itself: the last category with a weight is the last that counts.
  int64_t last = categories - 1;
  while (last > 0 && weights[last] == 0) --last;
  for (int64_t i = 0; i < draws; ++i) {
    const double mark = uniform(wide_word(state, first + static_cast<uint64_t>(i))) * total;
    const int64_t found = std::upper_bound(sums, sums + categories, mark) - sums;
    out[i] = std::min(found, last);
  }
}

struct Arrival {
  double time;
  int64_t category;
  bool operator<(const Arrival& other) const {
    return time < other.time || (time == other.time && category < other.category);
  }
};

/// One row without replacement.
void draw_once(const double* weights, int64_t categories, const RandomState& state, uint64_t first,
               int64_t draws, Arrival* arrivals, int64_t* out) {
  for (int64_t i = 0; i < categories; ++i) {
    const double wait = -std::log1p(-uniform(wide_word(state, first + static_cast<uint64_t>(i))));
    const double weight = weights[i];
    arrivals[i] = {weight > 0 ? wait / weight : std::numeric_limits<double>::infinity(), i};
  }
  std::partial_sort(arrivals, arrivals + draws, arrivals + categories);
  for (int64_t i = 0; i < draws; ++i) out[i] = arrivals[i].category;
}

void multinomial_kernel(const Context&, const RandomState& state, const TensorView& weights,
                        bool replacement, const TensorView& out) {
  const int64_t rows = weights.sizes[0], categories = weights.sizes[1], draws = out.sizes[1];
  if (draws == 0) return;
  const int64_t words = replacement ? draws : categories;  // a row's share of the sequence
  const int64_t grain = std::max<int64_t>(1, kGrain / 16 / (categories + draws));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(categories) * sizeof(Arrival));
    for (int64_t row = begin; row < end; ++row) {
      const double* const from = weights.as<const double>() + row * categories;
      int64_t* const to = out.as<int64_t>() + row * draws;
      const auto first = static_cast<uint64_t>(row * words);
      if (replacement) {
        draw_again(from, categories, state, first, draws, scratch.as<double>(), to);
      } else {
        draw_once(from, categories, state, first, draws, scratch.as<Arrival>(), to);
      }
    }
  });
}

template <typename... T>
void set() {
  (randint_kernels.set_cpu(dtype_of<T>, &randint_kernel<T>), ...);
  (geometric_kernels.set_cpu(dtype_of<T>, &geometric_kernel<T>), ...);
}

}  // namespace

void fill_random_choice() {
  set<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float, double>();
  randperm_kernels.set_cpu(DType::int64, &randperm_kernel);
  multinomial_kernels.set_cpu(DType::float64, &multinomial_kernel);
}

}  // namespace ebb::kernels::cpu
