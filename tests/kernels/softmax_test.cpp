// tests/kernels/softmax_test.cpp -- softmax, log_softmax, nll_loss, their gradients, random
// numbers.
#include "ebb/kernels/tables/softmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/tables/log_softmax.h"
#include "ebb/kernels/tables/log_softmax_backward.h"
#include "ebb/kernels/tables/nll_loss.h"
#include "ebb/kernels/tables/nll_loss_backward.h"
#include "ebb/kernels/tables/rand.h"
#include "ebb/kernels/tables/randn.h"
#include "ebb/kernels/tables/softmax_backward.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

class LossPerDType : public PerDType {};
INSTANTIATE_TEST_SUITE_P(All, LossPerDType, kFloatingDTypes, dtype_name);

/// Checks out and grad_input of lines along the middle dim of [outer, n, inner].
void check_log_softmax(const Array& input, const Array& grad_out, int64_t outer, int64_t n,
                       int64_t inner) {
  const DType dtype = input.dtype();
  const Array out(dtype, {outer, n, inner}), grad_input(dtype, {outer, n, inner});
  log_softmax_kernels.find_cpu(dtype)(kContext, input.view(), 1, out.view());
  log_softmax_backward_kernels.find_cpu(dtype)(kContext, grad_out.view(), out.view(), 1,
                                               grad_input.view());
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t first = line / inner * n * inner + line % inner;
    double largest = -1e30, sum = 0, grad_sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      largest = std::max(largest, input.real(first + i * inner));
      grad_sum += grad_out.real(first + i * inner);
    }
    for (int64_t i = 0; i < n; ++i) sum += std::exp(input.real(first + i * inner) - largest);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = first + i * inner;
      const double want = input.real(at) - largest - std::log(sum);
      ASSERT_TRUE(is_near(out.real(at), want, 4 * tolerance(dtype))) << out.real(at) << want;
      const double slope = grad_out.real(at) - std::exp(out.real(at)) * grad_sum;
      ASSERT_TRUE(is_near(grad_input.real(at), slope, 30 * tolerance(dtype)))
          << name_of(dtype) << n << ": " << grad_input.real(at) << " want " << slope;
    }
  }
}

/// The same for softmax.
void check_softmax(const Array& input, const Array& grad_out, int64_t outer, int64_t n,
                   int64_t inner) {
  const DType dtype = input.dtype();
  const Array out(dtype, {outer, n, inner}), grad_input(dtype, {outer, n, inner});
  softmax_kernels.find_cpu(dtype)(kContext, input.view(), 1, out.view());
  softmax_backward_kernels.find_cpu(dtype)(kContext, grad_out.view(), out.view(), 1,
                                           grad_input.view());
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t first = line / inner * n * inner + line % inner;
    double sum = 0, share = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::exp(input.real(first + i * inner));
    for (int64_t i = 0; i < n; ++i) {
      share += out.real(first + i * inner) * grad_out.real(first + i * inner);
    }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = first + i * inner;
      const double want = std::exp(input.real(at)) / sum;
      ASSERT_TRUE(is_near(out.real(at), want, 4 * tolerance(dtype))) << out.real(at) << want;
      const double slope = (grad_out.real(at) - share) * out.real(at);
      ASSERT_TRUE(is_near(grad_input.real(at), slope, 4 * tolerance(dtype)))
          << name_of(dtype) << n << ": " << grad_input.real(at) << " want " << slope;
    }
  }
}

TEST_P(LossPerDType, SoftmaxAlongAnyDimAndSize) {
  for (const int64_t n : {1, 2, 15, 16, 17, 33, 48, 50, 63, 64, 65, 90, 112, 128, 600}) {
    for (const int64_t inner : {1, 3, 40}) {
      check_softmax(random_array(dtype(), {2, n, inner}, 1),
                    random_array(dtype(), {2, n, inner}, 2), 2, n, inner);
      check_softmax(random_array(dtype(), {inner, n, 2}, 3).transposed(0, 2),
                    random_array(dtype(), {inner, n, 2}, 4).transposed(0, 2), 2, n, inner);
    }
  }
}

TEST_P(LossPerDType, LogSoftmaxAlongAnyDimAndSize) {
  for (const int64_t n : {1, 2, 10, 15, 16, 17, 40, 48, 50, 60, 70, 90, 112, 128, 1000}) {
    for (const int64_t inner : {1, 3}) {
      check_log_softmax(random_array(dtype(), {4, n, inner}, 1),
                        random_array(dtype(), {4, n, inner}, 2), 4, n, inner);
      check_log_softmax(random_array(dtype(), {inner, n, 4}, 3).transposed(0, 2),
                        random_array(dtype(), {inner, n, 4}, 4).transposed(0, 2), 4, n, inner);
    }
  }
}

TEST(LogSoftmax, StaysFiniteForLargeInputs) {
  Array input(DType::float32, {1, 3});
  input.set(0, 1e4);
  input.set(2, -1e4);
  const Array out(DType::float32, {1, 3});
  log_softmax_kernels.find_cpu(DType::float32)(kContext, input.view(), 1, out.view());
  EXPECT_EQ(out.reals(), (std::vector<double>{0, -1e4, -2e4}));
}

TEST_P(LossPerDType, NllLossWeighsAndIgnores) {
  const Array input = random_array(dtype(), {5, 3}, 1), weight = random_array(dtype(), {3}, 2);
  Array target(DType::int64, {5});
  for (int64_t i = 0; i < 5; ++i) target.set(i, static_cast<double>(i % 3));
  target.set(3, -100.0);
  const TensorView weights = weight.view();
  const Array each(dtype(), {5}), mean(dtype(), {}), total(dtype(), {}), grad(dtype(), {5, 3});
  const auto run = nll_loss_kernels.find_cpu(dtype());
  run(kContext, input.view(), target.view(), &weights, -100, Reduction::none, each.view(),
      total.view());
  run(kContext, input.view(), target.view(), &weights, -100, Reduction::mean, mean.view(),
      total.view());
  Array one(dtype(), {});
  one.set(0, 1.0);
  nll_loss_backward_kernels.find_cpu(dtype())(kContext, one.view(), target.view(), &weights, -100,
                                              Reduction::mean, total.view(), grad.view());
  double sum = 0, divisor = 0;
  for (int64_t i = 0; i < 5; ++i) {
    const double w = i == 3 ? 0.0 : weight.real(i % 3);
    const double loss = i == 3 ? 0.0 : -input.real(3 * i + i % 3) * w;
    ASSERT_TRUE(is_near(each.real(i), loss, tolerance(dtype())));
    sum += loss;
    divisor += w;
  }
  EXPECT_TRUE(is_near(mean.real(0), sum / divisor, 4 * tolerance(dtype())));
  for (int64_t i = 0; i < 15; ++i) {
    const bool is_target = i / 3 != 3 && i % 3 == i / 3 % 3;
    const double want = is_target ? -weight.real(i % 3) / divisor : 0.0;
    EXPECT_TRUE(is_near(grad.real(i), want, 4 * tolerance(dtype()))) << i;
  }
}

TEST(NllLoss, MeanOfNothingIsNaN) {
  const Array input(DType::float32, {0, 3}), target(DType::int64, {0});
  const Array mean(DType::float32, {}), total(DType::float32, {});
  nll_loss_kernels.find_cpu(DType::float32)(kContext, input.view(), target.view(), nullptr, -100,
                                            Reduction::mean, mean.view(), total.view());
  EXPECT_TRUE(std::isnan(mean.real(0)));
}

TEST(Softmax, IsBitwiseTheSameForAnyNumberOfThreads) {
  const Array input = random_array(DType::float32, {300, 1000}, 1);
  std::vector<char> first;
  for (const int threads : {1, 2, 3, 4, 8}) {
    set_num_threads(threads);
    const Array out(DType::float32, {300, 1000});
    log_softmax_kernels.find_cpu(DType::float32)(kContext, input.view(), 1, out.view());
    if (threads == 1) first = out.bytes();
    EXPECT_EQ(out.bytes(), first);
  }
  set_num_threads(1);
}

TEST(Random, NormalNumbersHaveTheirMeanAndDeviation) {
  for (const DType dtype : {DType::float16, DType::float32, DType::float64, DType::complex64}) {
    const int64_t count = 40000;
    const Array out(dtype, {count});
    randn_kernels.find_cpu(dtype)(kContext, RandomState{7, 3}, 1.0, 2.0, out.view());
    Complex sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += out.get(i);
      squares += std::norm(out.get(i) - 1.0);
    }
    EXPECT_NEAR(sum.real() / count, 1.0, 0.05) << name_of(dtype);
    EXPECT_NEAR(squares / count, 4.0, 0.15) << name_of(dtype);
  }
}

TEST(Random, UniformNumbersStayBelowTheEnd) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Array out(dtype, {30000});
    rand_kernels.find_cpu(dtype)(kContext, RandomState{1, 0}, 0.0, 1.0, out.view());
    double sum = 0;
    for (const double value : out.reals()) {
      ASSERT_TRUE(value >= 0.0 && value < 1.0) << value;
      sum += value;
    }
    EXPECT_NEAR(sum / 30000, 0.5, 0.02);
  }
}

TEST(Random, AnElementDependsOnStateAndPositionAlone) {
  const Array longer(DType::float32, {50001}), shorter(DType::float32, {101});
  const auto fill = randn_kernels.find_cpu(DType::float32);
  set_num_threads(4);
  fill(kContext, RandomState{5, 9}, 0.0, 1.0, longer.view());
  set_num_threads(1);
  fill(kContext, RandomState{5, 9}, 0.0, 1.0, shorter.view());
  for (int64_t i = 0; i < 101; ++i) ASSERT_EQ(longer.real(i), shorter.real(i));
}

}  // namespace
}  // namespace ebb::kernels::test
