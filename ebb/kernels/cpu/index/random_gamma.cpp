// ebb/kernels/cpu/index/random_gamma.cpp -- gamma variables and their derivative by the shape.
//
// Drawn as G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000);
// a shape below 1 as that of shape + 1 times a power of a uniform number, in logarithms, so that
// nothing underflows. The derivative is that of M. Figurnov et al., "Implicit reparameterization
// gradients" (2018), minus the derivative of the distribution function by the shape over the
// density; how it is computed stands above log_slope().
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/index/variates.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/tables/standard_gamma.h"
#include "ebb/kernels/tables/standard_gamma_grad.h"

namespace ebb::kernels::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The logarithm of a gamma variable.
double log_gamma_variable(double shape, Variates& numbers) {
  if (!(shape >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (shape == 0) return -kInfinity;
  if (shape == kInfinity) return kInfinity;
  double log_factor = 0;
  if (shape < 1) {
    log_factor = std::log(numbers.uniform_pair()[0]) / shape;
    shape += 1;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = numbers.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = numbers.uniform_pair()[0];
    const bool is_kept =
        u < 1 - 0.0331 * x * x * x * x || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v));
    if (is_kept) return log_factor + std::log(d * v);
  }
}

double digamma(double x) {
  double below = 0;  // psi(x) = psi(x + 1) - 1 / x
  for (; x < 10; x += 1) below += 1 / x;
  const double square = 1 / (x * x);
  double tail = 0;
  for (const double divisor : {132.0, -240.0, 252.0, -120.0, 12.0}) {
    tail = square * (1 / divisor + tail);
  }
  return std::log(x) - 0.5 / x - tail - below;
}

/// Nodes and weights of Gauss and Legendre on [0, 1].
struct Quadrature {
  static constexpr int kNodes = 48;
  std::array<double, kNodes> nodes, weights;

  Quadrature() {
    for (int i = 0; i < kNodes; ++i) {
      double x = std::cos(3.14159265358979323846 * (i + 0.75) / (kNodes + 0.5)), slope = 1;
      for (int step = 0; step < 8; ++step) {  // Newton's, from a good guess
        double value = x, before = 1;
        for (int n = 2; n <= kNodes; ++n) {
          const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
          before = value;
          value = next;
        }
        slope = kNodes * (x * value - before) / (x * x - 1);
        x -= value / slope;
      }
      const auto at = static_cast<size_t>(i);
      nodes[at] = (1 + x) / 2;
      weights[at] = 1 / ((1 - x * x) * slope * slope);
    }
  }
};

/// d log z / d shape by the series of the distribution function, which has only positive terms:
/// sum t_n = sum z^n / ((a + 1) ... (a + n)), and d t_n / da = -t_n sum 1 / (a + k).
double slope_by_series(double shape, double log_z, double z) {
  double term = 1, harmonic = 0, sum = 1, weighted = 0;
  for (int n = 1; n < 200 && term > 1e-17 * sum; ++n) {
    term *= z / (shape + n);
    harmonic += 1 / (shape + n);
    sum += term;
    weighted += term * harmonic;
  }
  return (weighted - sum * (log_z - digamma(shape + 1))) / shape;
}

/// Where the exponent g(s) = shape s - z (e^s - 1) has fallen to -38, beyond 0 in direction `sign`.
double where_negligible(double shape, double z, double sign) {
  const double lean = z - shape;
  // Beyond that place, since e^s - 1 >= s + s^2 / 2 to the right, and e^s > 0 to the left.
  double reach = sign > 0 ? (std::sqrt(lean * lean + 76 * z) - lean) / z : (38 + z) / shape;
  for (int step = 0; step < 30; ++step) {  // g is concave: Newton's steps never go too far
    const double excess = shape * sign * reach - z * std::expm1(sign * reach) + 38;
    const double move = excess / (sign * (shape - z * std::exp(sign * reach)));
    reach -= move;
    if (std::abs(move) < 0.02 * reach) break;
  }
  return reach;
}

/// d log z / d shape, where z is a gamma variable that keeps its share. With p the density and psi
/// the mean of log t, it is the integral of (log t - psi) p(t) / (z p(z)) over t > z, and minus
/// that over t < z: the one is taken in which nothing cancels. t = z e^s makes both smooth.
double slope_by_quadrature(double shape, double log_z, double z) {
  static const Quadrature rule;
  const double above_mean = log_z - digamma(shape), sign = above_mean > 0 ? 1 : -1;
  const double reach = where_negligible(shape, z, sign);
  double sum = 0;
  for (size_t i = 0; i < Quadrature::kNodes; ++i) {
    const double s = sign * reach * rule.nodes[i];
    sum += rule.weights[i] * (above_mean + s) * std::exp(shape * s - z * std::expm1(s));
  }
  return sign * reach * sum;
}

double log_slope(double shape, double log_z) {
  if (!(shape > 0) || std::isnan(log_z)) return std::numeric_limits<double>::quiet_NaN();
  const double z = std::exp(log_z);
  if (z == kInfinity) return 0;
  return z < 1.5 ? slope_by_series(shape, log_z, z) : slope_by_quadrature(shape, log_z, z);
}

/// The smallest positive number that all processors compute with at full speed.
template <typename T>
double smallest() {
  if constexpr (std::is_same_v<T, Half>) return 0x1p-14;
  if constexpr (std::is_same_v<T, double>) return std::numeric_limits<double>::min();
  return std::numeric_limits<float>::min();
}

template <typename T>
void standard_gamma_kernel(const Context&, const RandomState& state, const TensorView& input,
                           bool is_log, const TensorView& out) {
  parallel_for(out.numel, kGrain / 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Variates numbers(state, i);
      const double shape = convert<double>(input.as<const T>()[i]);
      const double log_z = log_gamma_variable(shape, numbers);
      const double z = shape > 0 ? std::max(std::exp(log_z), smallest<T>()) : std::exp(log_z);
      out.as<T>()[i] = convert<T>(is_log ? log_z : z);
    }
  });
}

template <typename T>
void standard_gamma_grad_kernel(const Context&, const TensorView& input, const TensorView& sample,
                                bool is_log, const TensorView& out) {
  parallel_for(out.numel, kGrain / 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double shape = convert<double>(input.as<const T>()[i]);
      const double value = convert<double>(sample.as<const T>()[i]);
      const double slope = log_slope(shape, is_log ? value : std::log(value));
      out.as<T>()[i] = convert<T>(is_log ? slope : slope * value);
    }
  });
}

template <typename... T>
void set() {
  (standard_gamma_kernels.set_cpu(dtype_of<T>, &standard_gamma_kernel<T>), ...);
  (standard_gamma_grad_kernels.set_cpu(dtype_of<T>, &standard_gamma_grad_kernel<T>), ...);
}

}  // namespace

void fill_random_gamma() { set<Half, BFloat16, float, double>(); }

}  // namespace ebb::kernels::cpu
