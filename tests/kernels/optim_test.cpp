// tests/kernels/optim_test.cpp -- optimizer steps against PyTorch's formulas in float64.
#include "ebb/kernels/cpu/network/optim.h"

#include <gtest/gtest.h>

#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

constexpr int64_t kCounts[] = {0, 1, 7, 16, 70, 600};

class OptimPerDType : public PerDType {
 protected:
  Array random(int64_t count, unsigned seed) const { return random_array(dtype(), {count}, seed); }
  Array positive(int64_t count, unsigned seed) const {
    Array array = random(count, seed);
    for (int64_t i = 0; i < count; ++i) array.set(i, std::abs(array.get(i)));
    return array;
  }
  StepOperands operands(std::initializer_list<const Array*> arrays) const {
    StepOperands operands;
    operands.dtype = dtype();
    size_t place = 0;
    for (const Array* array : arrays) {
      operands.count = array->view().numel;
      operands.data[place++] = array->view().data;
    }
    return operands;
  }
  void expect_near(const Array& got, int64_t i, double want) const {
    ASSERT_TRUE(is_near(got.real(i), want, 8 * tolerance(dtype())))
        << name_of(dtype()) << " at " << i << ": got " << got.real(i) << ", want " << want;
  }
};
INSTANTIATE_TEST_SUITE_P(All, OptimPerDType, kFloatingDTypes, dtype_name);

TEST_P(OptimPerDType, SgdWithMomentumFollowsTheFormula) {
  for (const bool nesterov : {false, true}) {
    for (const bool is_first : {false, true}) {
      for (const int64_t n : kCounts) {
        const SGDOptions options{.lr = 0.1,
                                 .momentum = 0.9,
                                 .dampening = nesterov ? 0.0 : 0.2,
                                 .weight_decay = 0.01,
                                 .nesterov = nesterov,
                                 .maximize = is_first};
        const Array param = random(n, 1), grad = random(n, 2), buffer = random(n, 3);
        const Array old = random(n, 1), old_buffer = random(n, 3);
        cpu::sgd_step(options, {.is_first = is_first}, operands({&param, &grad, &buffer}));
        for (int64_t i = 0; i < n; ++i) {
          const double g = (is_first ? -1 : 1) * grad.real(i) + 0.01 * old.real(i);
          const double b = is_first ? g : 0.9 * old_buffer.real(i) + (1 - options.dampening) * g;
          expect_near(buffer, i, b);
          expect_near(param, i, old.real(i) - 0.1 * (nesterov ? g + 0.9 * b : b));
        }
      }
    }
  }
}

TEST_P(OptimPerDType, PlainSgdNeedsNoBuffer) {
  const Array param = random(70, 1), grad = random(70, 2), old = random(70, 1);
  cpu::sgd_step({.lr = 0.5}, {}, operands({&param, &grad}));
  for (int64_t i = 0; i < 70; ++i) expect_near(param, i, old.real(i) - 0.5 * grad.real(i));
}

TEST_P(OptimPerDType, AdamFollowsTheFormula) {
  const double size = 0.01 / (1 - std::pow(0.9, 3)), scale = std::sqrt(1 - std::pow(0.999, 3));
  for (const WeightDecay decay : {WeightDecay::coupled, WeightDecay::decoupled}) {
    const bool decoupled = decay == WeightDecay::decoupled;
    for (const int64_t n : kCounts) {
      const AdamOptions options{.lr = 0.01, .eps = 1e-3, .weight_decay = 0.1, .amsgrad = true};
      const Array param = random(n, 1), grad = random(n, 2), mean = random(n, 3);
      const Array square = positive(n, 4), largest = random(n, 5);
      const Array old = random(n, 1), old_mean = random(n, 3), old_largest = random(n, 5);
      const std::vector<double> old_square = square.reals();
      cpu::adam_step(options, decay, {.step_size = size, .root_scale = scale},
                     operands({&param, &grad, &mean, &square, &largest}));
      for (int64_t i = 0; i < n; ++i) {
        const double p = old.real(i) * (decoupled ? 1 - 0.01 * 0.1 : 1.0);
        const double g = grad.real(i) + (decoupled ? 0.0 : 0.1 * old.real(i));
        const double m = 0.9 * old_mean.real(i) + 0.1 * g;
        const double v = 0.999 * old_square[static_cast<size_t>(i)] + 0.001 * g * g;
        const double top = std::max(v, old_largest.real(i));
        expect_near(mean, i, m);
        expect_near(square, i, v);
        expect_near(largest, i, top);
        expect_near(param, i, p - size * m / (std::sqrt(top) / scale + 1e-3));
      }
    }
  }
}

TEST_P(OptimPerDType, MastersMakeTheStepOfFloat32) {
  if (!is_half(dtype())) GTEST_SKIP() << "has no master";
  const AdamOptions options{.lr = 0.01, .weight_decay = 0.1};
  const auto float32 = [](int64_t n, unsigned seed) {
    return random_array(DType::float32, {n}, seed);
  };
  for (const bool has_wide_grad : {false, true}) {
    for (const int64_t n : kCounts) {
      const Array half = random(n, 1), master = float32(n, 2), mean = float32(n, 3);
      const Array square(DType::float32, {n}), wide = float32(n, 2), wide_mean = float32(n, 3);
      const Array wide_square(DType::float32, {n});
      Array wide_grad = float32(n, 4);
      const Array narrow_grad = random(n, 4);
      for (int64_t i = 0; i < n && !has_wide_grad; ++i) wide_grad.set(i, narrow_grad.real(i));
      StepOperands mixed = operands({&half, &narrow_grad, &mean, &square});
      mixed.master = static_cast<float*>(master.view().data);
      mixed.has_wide_grad = has_wide_grad;
      if (has_wide_grad) mixed.data[1] = wide_grad.view().data;
      cpu::adam_step(options, WeightDecay::coupled, {}, mixed.part(n / 3, n));
      cpu::adam_step(options, WeightDecay::coupled, {}, mixed.part(0, n / 3));
      StepOperands plain = operands({&wide, &wide_grad, &wide_mean, &wide_square});
      plain.dtype = DType::float32;
      cpu::adam_step(options, WeightDecay::coupled, {}, plain);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(master.real(i), wide.real(i)) << i;
        ASSERT_EQ(square.real(i), wide_square.real(i)) << i;
        Array rounded(dtype(), {1});
        rounded.set(0, master.real(i));
        ASSERT_EQ(half.real(i), rounded.real(0)) << i;
      }
    }
  }
}

TEST_P(OptimPerDType, RmspropFollowsTheFormula) {
  for (const bool centered : {false, true}) {
    for (const int64_t n : kCounts) {
      const RMSpropOptions options{.lr = 0.1,
                                   .alpha = 0.75,
                                   .eps = 0.5,
                                   .weight_decay = 0.1,
                                   .momentum = 0.9,
                                   .centered = centered,
                                   .maximize = true};
      const Array param = random(n, 1), grad = random(n, 2), buffer = random(n, 4);
      const Array square = positive(n, 3), mean = random(n, 5);
      const Array old = random(n, 1), old_buffer = random(n, 4), old_mean = random(n, 5);
      const std::vector<double> old_square = square.reals();
      cpu::rmsprop_step(options, {}, operands({&param, &grad, &square, &buffer, &mean}));
      for (int64_t i = 0; i < n; ++i) {
        const double g = -grad.real(i) + 0.1 * old.real(i);
        const double v = 0.75 * old_square[static_cast<size_t>(i)] + 0.25 * g * g;
        const double m = 0.75 * old_mean.real(i) + 0.25 * g;
        const double variance = centered ? std::max(v - m * m, 0.0) : v;
        const double b = 0.9 * old_buffer.real(i) + g / (std::sqrt(variance) + 0.5);
        expect_near(square, i, v);
        expect_near(mean, i, centered ? m : old_mean.real(i));
        expect_near(buffer, i, b);
        expect_near(param, i, old.real(i) - 0.1 * b);
      }
    }
  }
}

TEST_P(OptimPerDType, AdagradFollowsTheFormula) {
  for (const int64_t n : kCounts) {
    const AdagradOptions options{.weight_decay = 0.1, .eps = 0.5};
    const Array param = random(n, 1), grad = random(n, 2), sum = positive(n, 3);
    const Array old = random(n, 1);
    const std::vector<double> old_sum = sum.reals();
    cpu::adagrad_step(options, {.step_size = 0.25}, operands({&param, &grad, &sum}));
    for (int64_t i = 0; i < n; ++i) {
      const double g = grad.real(i) + 0.1 * old.real(i);
      const double s = old_sum[static_cast<size_t>(i)] + g * g;
      expect_near(sum, i, s);
      expect_near(param, i, old.real(i) - 0.25 * g / (std::sqrt(s) + 0.5));
    }
  }
}

}  // namespace
}  // namespace ebb::kernels::test
