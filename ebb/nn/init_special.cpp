// ebb/nn/init_special.cpp -- starting values that take some computing: orthogonal_, trunc_normal_.
#include <algorithm>
#include <cmath>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/rand.h"
#include "ebb/autograd/ops/randn.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/core/base/error.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/nn/init.h"

namespace ebb::nn::init {
namespace {

/// Rows that are made orthogonal to all before them by one matrix product.
constexpr int64_t kBlock = 32;

/// Takes the directions of `done`, which are orthonormal rows, out of `rows`. Twice: what rounding
/// left the first time is gone after the second.
void project_out(const Tensor& rows, const Tensor& done) {
  if (done.size(0) == 0) return;
  for (int round = 0; round < 2; ++round) {
    copy_(rows, sub(rows, matmul(matmul(rows, transpose(done, 0, 1)), done)));
  }
}

/// Gram and Schmidt's method in blocks: `rows` become orthonormal, in place.
void make_orthonormal(const Tensor& rows) {
  const int64_t count = rows.size(0);
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t length = std::min(kBlock, count - start);
    const Tensor block = narrow(rows, 0, start, length);
    project_out(block, narrow(rows, 0, 0, start));
    for (int64_t i = 0; i < length; ++i) {
      const Tensor row = narrow(block, 0, i, 1);
      project_out(row, narrow(block, 0, 0, i));
      copy_(row, div(row, sqrt(sum(mul(row, row)))));
    }
  }
}

// Inlined, else compilers would take one number at a time.
template <typename... T>
[[gnu::always_inline]] inline double evaluate(double x, T... coefficients) {
  double value = 0;
  ((value = value * x + coefficients), ...);
  return value;
}

double cumulative(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

/// Below this probability, and above one less it, the other of Acklam's approximations holds.
constexpr double kTail = 0.02425;

/// Where the normal distribution reaches 1/2 + q: Acklam's rational approximation, whose relative
/// error is 1e-9: enough for float32.
[[gnu::always_inline]] inline double middle_quantile(double q) {
  return q *
         evaluate(q * q, -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
                  1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00) /
         evaluate(q * q, -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                  6.680131188771972e+01, -1.328068155288572e+01, 1.0);
}
/// Where it reaches `p` <= kTail.
double tail_quantile(double p) {
  const double q = std::sqrt(-2 * std::log(p));
  return evaluate(q, -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                  -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00) /
         evaluate(q, 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                  3.754408661907416e+00, 1.0);
}
/// One step of Halley's method, which makes x, where p <= 1/2 is reached, exact to rounding.
double refined(double x, double p) {
  const double error = cumulative(x) - p;
  const double step = error * std::sqrt(2 * M_PI) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

/// Draws from the normal distribution cut to [least, most].
struct TruncatedNormal {
  static constexpr int64_t kCount = 256;  // known, so that compilers take several at a time

  double mean, deviation, least, most;
  double low, high;  // the bounds, counted in deviations from the mean
  bool is_mirrored;  // the interval lies in the upper half, where 1 - p would lose digits
  double from;
  double to;

  TruncatedNormal(double mean, double deviation, double least, double most)
      : mean(mean),
        deviation(deviation),
        least(least),
        most(most),
        low((least - mean) / deviation),
        high((most - mean) / deviation),
        is_mirrored(low > 0),
        from(cumulative(is_mirrored ? -high : low)),
        to(cumulative(is_mirrored ? -low : high)) {}

  /// Makes such numbers of the `count` <= kCount uniform ones. Those in a tail are found first: to
  /// ask each would mislead the processor at every one. `is_exact` is for float64 and takes four
  /// times as long.
  void draw(double* values, int64_t count, bool is_exact) const {
    double p[kCount], x[kCount], lower[kCount];
    std::copy_n(values, count, p);
    std::fill(p + count, p + kCount, 0.5);
    const double start = from, width = to - from;
    for (int64_t i = 0; i < kCount; ++i) p[i] = start + width * p[i];
    for (int64_t i = 0; i < kCount; ++i) x[i] = middle_quantile(p[i] - 0.5);
    for (int64_t i = 0; i < kCount; ++i) lower[i] = std::max(std::min(p[i], 1 - p[i]), 1e-300);
    int32_t places[kCount];
    int64_t tails = 0;
    for (int64_t i = 0; i < count; ++i) {
      places[tails] = static_cast<int32_t>(i);
      tails += lower[i] < kTail ? 1 : 0;
    }
    for (int64_t k = 0; k < tails; ++k) {
      const int32_t i = places[k];
      x[i] = std::copysign(tail_quantile(lower[i]), p[i] - 0.5);
    }
    for (int64_t i = 0; is_exact && i < count; ++i) {
      x[i] = std::copysign(refined(-std::abs(x[i]), lower[i]), p[i] - 0.5);
    }
    const double sign = is_mirrored ? -1 : 1;
    for (int64_t i = 0; i < kCount; ++i) {
      const double cut = std::min(std::max(sign * x[i], low), high);
      x[i] = std::min(std::max(cut * deviation + mean, least), most);
    }
    std::copy_n(x, count, values);
  }
};

}  // namespace

const Tensor& orthogonal_(const Tensor& tensor, double gain) {
  if (tensor.ndim() < 2) {
    throw ShapeError(
        str("orthogonal_: needs a tensor of at least 2 dims, got shape ", tensor.shape()));
  }
  if (tensor.numel() == 0) return tensor;
  const NoGradGuard no_grad;
  if (is_meta(tensor)) return fill_(tensor, 0);  // no number is drawn
  const int64_t rows = tensor.size(0);
  const int64_t columns = tensor.numel() / rows;
  const Tensor drawn = randn(Shape{rows, columns}, DType::float64, Device{});
  const bool is_tall = rows > columns;
  const Tensor vectors = is_tall ? contiguous(transpose(drawn, 0, 1)) : drawn;
  make_orthonormal(vectors);
  const Tensor result = is_tall ? transpose(vectors, 0, 1) : vectors;
  copy_(tensor, reshape(mul(result, gain), tensor.sizes()));
  return tensor;
}

const Tensor& trunc_normal_(const Tensor& tensor, double mean, double std, double low,
                            double high) {
  if (!(std > 0) || !(low < high)) {
    throw ValueError(
        str("trunc_normal_: needs std > 0 and a < b, got std ", std, ", a ", low, " and b ", high));
  }
  const NoGradGuard no_grad;
  if (is_meta(tensor)) return fill_(tensor, 0);  // no number is drawn
  const Tensor drawn = rand(tensor.sizes(), DType::float64, Device{});
  const TruncatedNormal distribution(mean, std, low, high);
  const bool is_exact = tensor.dtype() == DType::float64;
  double* const values = drawn.data<double>();
  parallel_for(drawn.numel(), 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t start = begin; start < end; start += TruncatedNormal::kCount) {
      const int64_t count = std::min(TruncatedNormal::kCount, end - start);
      distribution.draw(values + start, count, is_exact);
    }
  });
  copy_(tensor, drawn);
  return tensor;
}

}  // namespace ebb::nn::init
