// ebb/kernels/cpu/index/random_counts.cpp -- Poisson and binomial variables.
//
// Small means are counted event by event. Large ones draw candidates from a smooth hat and keep
// those below the histogram: W. Hoermann, "The transformed rejection method for generating Poisson
// random variables" (1993) and "The generation of binomial random variates" (1993).
#include <cmath>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/index/variates.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tables/binomial.h"
#include "ebb/kernels/tables/poisson.h"

namespace ebb::kernels::cpu {
namespace {

constexpr double kFewEvents = 10;  // in the mean: below this, counting is quicker

/// log(n!), without the global sign that std::lgamma writes.
double log_factorial(double n) {
  int sign = 0;
  return ::lgamma_r(n + 1, &sign);
}

/// A hat over a histogram around `center`: a table of numbers from the papers.
struct Hat {
  double a, b, center, quick_share;

  /// The candidate at `u` from -0.5 to 0.5, whose distance from the ends is `to_end`.
  double candidate(double u, double to_end) const {
    return std::floor((2 * a / to_end + b) * u + center);
  }
  /// Whether (u, v) lies so far inside that nothing need be computed.
  bool is_quick(double to_end, double v) const { return to_end >= 0.07 && v <= quick_share; }
  double slope(double to_end) const { return a / (to_end * to_end) + b; }
};

double few_events(double rate, Variates& numbers) {
  const double limit = std::exp(-rate);
  double product = 1, count = 0;
  while (true) {
    for (const double number : numbers.uniform_pair()) {
      product *= number;
      if (product <= limit) return count;
      ++count;
    }
  }
}

double poisson(double rate, Variates& numbers) {
  if (!(rate > 0)) return rate;  // 0, or NaN
  if (rate < kFewEvents) return few_events(rate, numbers);
  const double b = 0.931 + 2.53 * std::sqrt(rate), log_rate = std::log(rate);
  const Hat hat{-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2)};
  const double log_scale = std::log(1.1239 + 1.1328 / (b - 3.4));
  while (true) {
    const auto [first, v] = numbers.uniform_pair();
    const double u = first - 0.5, to_end = 0.5 - std::abs(u);
    const double count = hat.candidate(u, to_end);
    if (hat.is_quick(to_end, v)) return count;
    if (count < 0 || (to_end < 0.013 && v > to_end)) continue;
    const double height = std::log(v) + log_scale - std::log(hat.slope(to_end));
    if (height <= count * log_rate - rate - log_factorial(count)) return count;
  }
}

/// Adds waiting times up: few successes.
double few_successes(double trials, double prob, Variates& numbers) {
  const double scale = std::log1p(-prob);
  double passed = 0, count = 0;
  while (true) {
    for (const double number : numbers.uniform_pair()) {
      passed += std::ceil(std::log(number) / scale);
      if (passed > trials) return count;
      ++count;
    }
  }
}

/// For prob of at most 0.5.
double rarer_outcome(double trials, double prob, Variates& numbers) {
  if (trials * prob < kFewEvents) return few_successes(trials, prob, numbers);
  const double deviation = std::sqrt(trials * prob * (1 - prob)), b = 1.15 + 2.53 * deviation;
  const Hat hat{-0.0873 + 0.0248 * b + 0.01 * prob, b, trials * prob + 0.5, 0.92 - 4.2 / b};
  const double alpha = (2.83 + 5.1 / b) * deviation, log_odds = std::log(prob / (1 - prob));
  const double mode = std::floor((trials + 1) * prob);
  const double peak = log_factorial(mode) + log_factorial(trials - mode);
  while (true) {
    const auto [first, v] = numbers.uniform_pair();
    const double u = first - 0.5, to_end = 0.5 - std::abs(u);
    const double count = hat.candidate(u, to_end);
    if (hat.is_quick(to_end, v)) return count;
    if (count < 0 || count > trials) continue;
    const double height = std::log(v * alpha / hat.slope(to_end));
    const double ways = peak - log_factorial(count) - log_factorial(trials - count);
    if (height <= ways + (count - mode) * log_odds) return count;
  }
}

double binomial(double trials, double prob, Variates& numbers) {
  if (std::isnan(trials) || std::isnan(prob)) return trials + prob;
  if (trials <= 0 || prob <= 0) return 0;
  if (prob >= 1) return trials;
  if (prob <= 0.5) return rarer_outcome(trials, prob, numbers);
  return trials - rarer_outcome(trials, 1 - prob, numbers);
}

template <typename T>
void poisson_kernel(const Context&, const RandomState& state, const TensorView& input,
                    const TensorView& out) {
  parallel_for(out.numel, kGrain / 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Variates numbers(state, i);
      out.as<T>()[i] = convert<T>(poisson(convert<double>(input.as<const T>()[i]), numbers));
    }
  });
}

template <typename T>
void binomial_kernel(const Context&, const RandomState& state, const TensorView& count,
                     const TensorView& prob, const TensorView& out) {
  parallel_for(out.numel, kGrain / 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Variates numbers(state, i);
      const double trials = convert<double>(count.as<const T>()[i]);
      out.as<T>()[i] =
          convert<T>(binomial(trials, convert<double>(prob.as<const T>()[i]), numbers));
    }
  });
}

template <typename... T>
void set() {
  (poisson_kernels.set_cpu(dtype_of<T>, &poisson_kernel<T>), ...);
  (binomial_kernels.set_cpu(dtype_of<T>, &binomial_kernel<T>), ...);
}

}  // namespace

void fill_random_counts() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu
