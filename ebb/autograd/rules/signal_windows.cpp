// ebb/autograd/rules/signal_windows.cpp -- windows: see signal.h.
#include <cmath>
#include <numbers>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cos.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/special_i0e.h"
#include "ebb/autograd/ops/sqrt.h"
#include "ebb/autograd/rules/signal.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/str.h"

namespace ebb::autograd::rules {
namespace {

/// A window whose element at x, from 0 at its beginning to 1 at its end, is shape(x).
template <typename Shape_>
Tensor window_of(int64_t length, bool periodic, std::optional<DType> dtype,
                 std::optional<Device> device, Shape_&& shape) {
  if (length < 0) {
    throw ValueError(str("window: window_length must be at least 0, got ", length));
  }
  const DType wanted = dtype.value_or(default_dtype());
  if (!is_floating(wanted)) {
    throw DTypeError(
        str("window: dtype must be float16, bfloat16, float32, float64, got ", wanted));
  }
  if (length <= 1) return ones(Shape{length}, wanted, device);
  const auto end = static_cast<double>(periodic ? length : length - 1);
  return cast(shape(arange(0, length, 1, DType::float64, device) / end), wanted);
}

}  // namespace

Tensor cosine_window(int64_t length, bool periodic, std::initializer_list<double> coefficients,
                     std::optional<DType> dtype, std::optional<Device> device) {
  return window_of(length, periodic, dtype, device, [&](const Tensor& x) {
    Tensor sum = x * 0;
    double turn = 0, sign = 1;
    for (const double one : coefficients) {
      sum = sum + cos(x * turn) * (sign * one);
      turn += 2 * std::numbers::pi;
      sign = -sign;
    }
    return sum;
  });
}

Tensor bartlett_window(int64_t length, bool periodic, std::optional<DType> dtype,
                       std::optional<Device> device) {
  return window_of(length, periodic, dtype, device,
                   [](const Tensor& x) { return 1 - abs(x * 2 - 1); });
}

// I0(beta r) / I0(beta), where i0e(y) = exp(-y) I0(y) does not overflow.
Tensor kaiser_window(int64_t length, bool periodic, double beta, std::optional<DType> dtype,
                     std::optional<Device> device) {
  return window_of(length, periodic, dtype, device, [&](const Tensor& x) {
    const Tensor reach = sqrt(x * (1 - x)) * (2 * std::abs(beta));
    const Tensor whole = ones(Shape{}, DType::float64, device) * std::abs(beta);
    return special_i0e(reach) / special_i0e(whole) * exp(reach - std::abs(beta));
  });
}

}  // namespace ebb::autograd::rules
