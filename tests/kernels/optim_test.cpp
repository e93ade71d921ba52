// tests/kernels/optim_test.cpp -- optimizer steps against PyTorch's formulas in float64.
#include "ebb/kernels/cpu/optim.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

using cpu::AdamWArgs;
using cpu::SgdArgs;

class OptimPerDType : public testing::TestWithParam<int> {
 protected:
  DType dtype() const { return static_cast<DType>(GetParam()); }
  Array random(int64_t count, unsigned seed) const { return random_array(dtype(), {count}, seed); }
  void expect_near(const Array& got, int64_t i, double want) const {
    ASSERT_TRUE(is_near(got.real(i), want, 8 * tolerance(dtype())))
        << name_of(dtype()) << " at " << i << ": got " << got.real(i) << ", want " << want;
  }
};
INSTANTIATE_TEST_SUITE_P(All, OptimPerDType,
                         testing::Range(static_cast<int>(DType::float16),
                                        static_cast<int>(DType::float64) + 1),
                         [](const testing::TestParamInfo<int>& info) {
                           return std::string(name_of(static_cast<DType>(info.param)));
                         });

TEST_P(OptimPerDType, SgdWithMomentumFollowsTheFormula) {
  for (const bool nesterov : {false, true}) {
    for (const bool is_first : {false, true}) {
      for (const int64_t n : {0, 1, 7, 16, 70, 600}) {
        const SgdArgs args{.lr = 0.1,
                           .momentum = 0.9,
                           .dampening = nesterov ? 0.0 : 0.2,
                           .weight_decay = 0.01,
                           .nesterov = nesterov,
                           .maximize = is_first,
                           .first_step = is_first};
        const Array param = random(n, 1), grad = random(n, 2), buffer = random(n, 3);
        const Array old = random(n, 1), old_buffer = random(n, 3);
        cpu::sgd_step(args, param.view(), grad.view(), buffer.view());
        for (int64_t i = 0; i < n; ++i) {
          const double g = (is_first ? -1 : 1) * grad.real(i) + 0.01 * old.real(i);
          const double b = is_first ? g : 0.9 * old_buffer.real(i) + (1 - args.dampening) * g;
          expect_near(buffer, i, b);
          expect_near(param, i, old.real(i) - 0.1 * (nesterov ? g + 0.9 * b : b));
        }
      }
    }
  }
}

TEST_P(OptimPerDType, PlainSgdNeedsNoBuffer) {
  const Array param = random(70, 1), grad = random(70, 2), old = random(70, 1);
  cpu::sgd_step(SgdArgs{.lr = 0.5}, param.view(), grad.view(), TensorView{});
  for (int64_t i = 0; i < 70; ++i) expect_near(param, i, old.real(i) - 0.5 * grad.real(i));
}

TEST_P(OptimPerDType, AdamWFollowsTheFormula) {
  for (const bool decoupled : {false, true}) {
    for (const int64_t n : {0, 1, 7, 16, 70, 600}) {
      AdamWArgs args{.lr = 0.01, .eps = 1e-3, .weight_decay = 0.1, .step = 3};
      args.decoupled = decoupled;
      const Array param = random(n, 1), grad = random(n, 2), mean = random(n, 3);
      Array square = random(n, 4), largest = random(n, 5);
      for (int64_t i = 0; i < n; ++i) square.set(i, std::abs(square.get(i)));
      const Array old = random(n, 1), old_mean = random(n, 3), old_largest = random(n, 5);
      const std::vector<double> old_square = square.reals();
      cpu::adamw_step(args, param.view(), grad.view(), mean.view(), square.view(), largest.view());
      for (int64_t i = 0; i < n; ++i) {
        const double p = old.real(i) * (decoupled ? 1 - 0.01 * 0.1 : 1.0);
        const double g = grad.real(i) + (decoupled ? 0.0 : 0.1 * old.real(i));
        const double m = 0.9 * old_mean.real(i) + 0.1 * g;
        const double v = 0.999 * old_square[static_cast<size_t>(i)] + 0.001 * g * g;
        const double top = std::max(v, old_largest.real(i));
        const double root = std::sqrt(top) / std::sqrt(1 - std::pow(0.999, 3)) + 1e-3;
        expect_near(mean, i, m);
        expect_near(square, i, v);
        expect_near(largest, i, top);
        expect_near(param, i, p - 0.01 / (1 - std::pow(0.9, 3)) * m / root);
      }
    }
  }
}

}  // namespace
}  // namespace ebb::kernels::test
