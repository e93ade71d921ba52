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

template <typename... T>
double evaluate(double x, T... coefficients) {
  double value = 0;
  ((value = value * x + coefficients), ...);
  return value;
}

/// Where the normal distribution reaches probability `p` <= 1/2: Acklam's rational approximation,
/// whose relative error is 1e-9: enough for float32. For float64 one step of Halley's method makes
/// it exact to rounding (`is_exact`), which takes three times as long.
double lower_quantile(double p, bool is_exact) {
  double x;
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    x = evaluate(q, -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                 -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00) /
        evaluate(q, 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                 3.754408661907416e+00, 1.0);
  } else {
    const double q = p - 0.5;
    x = q *
        evaluate(q * q, -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
                 1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00) /
        evaluate(q * q, -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                 6.680131188771972e+01, -1.328068155288572e+01, 1.0);
  }
  if (!is_exact) return x;
  const double error = 0.5 * std::erfc(-x * M_SQRT1_2) - p;
  const double step = error * std::sqrt(2 * M_PI) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

double cumulative(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

/// Draws from the normal distribution cut to [low, high], both counted in deviations.
struct TruncatedNormal {
  double low;
  double high;
  bool is_mirrored;  // the interval lies in the upper half, where 1 - p would lose digits
  double from;
  double to;

  TruncatedNormal(double low, double high)
      : low(low),
        high(high),
        is_mirrored(low > 0),
        from(cumulative(is_mirrored ? -high : low)),
        to(cumulative(is_mirrored ? -low : high)) {}

  double at(double uniform, bool is_exact) const {
    const double p = std::max(from + (to - from) * uniform, 1e-300);
    // One call and a choice: which half p lies in is a coin's toss, which no processor foresees.
    const double quantile = lower_quantile(std::min(p, 1 - p), is_exact);
    double x = p <= 0.5 ? quantile : -quantile;
    if (is_mirrored) x = -x;
    return std::clamp(x, low, high);
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
  const TruncatedNormal distribution((low - mean) / std, (high - mean) / std);
  const bool is_exact = tensor.dtype() == DType::float64;
  double* const values = drawn.data<double>();
  parallel_for(drawn.numel(), 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      values[i] = std::clamp(distribution.at(values[i], is_exact) * std + mean, low, high);
    }
  });
  copy_(tensor, drawn);
  return tensor;
}

}  // namespace ebb::nn::init
