// tests/kernels/pointwise_test.cpp -- element-wise kernels against plain loops over doubles.
//
// Every dtype, all sizes from 0 to 70 (so every tail of every vector length), every way to repeat
// an operand, and strided operands and results.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "ebb/kernels/tables/add.h"
#include "ebb/kernels/tables/arange.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/kernels/tables/conj.h"
#include "ebb/kernels/tables/div.h"
#include "ebb/kernels/tables/eq.h"
#include "ebb/kernels/tables/exp.h"
#include "ebb/kernels/tables/fill.h"
#include "ebb/kernels/tables/greater.h"
#include "ebb/kernels/tables/mul.h"
#include "ebb/kernels/tables/mul0.h"
#include "ebb/kernels/tables/neg.h"
#include "ebb/kernels/tables/relu.h"
#include "ebb/kernels/tables/relu_backward.h"
#include "ebb/kernels/tables/sub.h"
#include "ebb/kernels/tables/tanh.h"
#include "ebb/kernels/tables/tanh_backward.h"
#include "ebb/kernels/tables/where.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

using Reference = std::function<Complex(Complex, Complex)>;
struct BinaryCase {
  const char* name;
  const KernelTable<BinaryKernel>* table;
  Reference reference;
  bool is_comparison = false;
};

const BinaryCase kBinaryCases[] = {
    {"add", &add_kernels, [](Complex a, Complex b) { return a + b; }},
    {"sub", &sub_kernels, [](Complex a, Complex b) { return a - b; }},
    {"mul", &mul_kernels, [](Complex a, Complex b) { return a * b; }},
    {"mul0", &mul0_kernels, [](Complex a, Complex b) { return a == 0.0 ? a : a * b; }},
    {"div", &div_kernels, [](Complex a, Complex b) { return a / b; }},
    {"greater", &greater_kernels, [](Complex a, Complex b) { return a.real() > b.real(); }, true},
    {"eq", &eq_kernels, [](Complex a, Complex b) { return a == b; }, true},
    {"relu_backward", &relu_backward_kernels,
     [](Complex g, Complex out) { return out.real() > 0 ? g : 0.0; }},
    {"tanh_backward", &tanh_backward_kernels,
     [](Complex g, Complex out) { return g * std::conj(1.0 - out * out); }},
};

/// The exact result as this dtype stores it: integers wrap around, bool is or (and).
Complex as_stored(DType dtype, Complex value) {
  if (is_floating(dtype) || is_complex(dtype)) return value;
  Array one(dtype, {1});
  one.set(0, value);
  return one.get(0);
}

/// Runs a binary kernel and compares with the reference, element by element.
void check_binary(const BinaryCase& test, const Array& lhs, const Array& rhs, const Array& out,
                  const std::function<std::pair<int64_t, int64_t>(int64_t)>& operands_of) {
  const BinaryKernel kernel = test.table->find_cpu(lhs.dtype());
  ASSERT_NE(kernel, nullptr);
  std::vector<Complex> want;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const auto [a, b] = operands_of(i);
    want.push_back(as_stored(out.dtype(), test.reference(lhs.get(a), rhs.get(b))));
  }
  kernel(kContext, lhs.view(), rhs.view(), out.view());
  for (int64_t i = 0; i < out.numel(); ++i) {
    const Complex expected = want[static_cast<size_t>(i)];
    ASSERT_TRUE(is_near(out.get(i), expected, 4 * tolerance(out.dtype())))
        << test.name << " of " << name_of(lhs.dtype()) << " at " << i << " of " << out.numel()
        << ": got " << out.get(i) << ", want " << expected;
  }
}

class PointwisePerDType : public PerDType {};
INSTANTIATE_TEST_SUITE_P(All, PointwisePerDType, kEveryDType, dtype_name);

TEST_P(PointwisePerDType, BinaryKernelsHandleEverySizeAndRepeatedOperands) {
  for (const BinaryCase& test : kBinaryCases) {
    if (test.table->find_cpu(dtype()) == nullptr) continue;
    const DType result = test.is_comparison ? DType::boolean : dtype();
    for (int64_t n = 0; n <= 70; ++n) {
      const Array lhs = random_array(dtype(), {n}, 1), rhs = random_array(dtype(), {n}, 2);
      const Array one = random_array(dtype(), {1}, 3);
      const auto same = [](int64_t i) { return std::pair(i, i); };
      check_binary(test, lhs, rhs, Array(result, {n}), same);
      check_binary(test, lhs, one, Array(result, {n}), [](int64_t i) { return std::pair(i, 0); });
      check_binary(test, one, rhs, Array(result, {n}), [](int64_t i) { return std::pair(0, i); });
    }
  }
}

TEST_P(PointwisePerDType, BinaryKernelsBroadcastAndStride) {
  for (const BinaryCase& test : kBinaryCases) {
    if (test.table->find_cpu(dtype()) == nullptr) continue;
    const DType result = test.is_comparison ? DType::boolean : dtype();
    for (const int64_t columns : {1, 3, 17, 64, 600}) {
      const int64_t rows = 5;
      const Array lhs = random_array(dtype(), {columns, rows}, 1).transposed(0, 1);
      const Array row = random_array(dtype(), {columns}, 2);
      const Array column = random_array(dtype(), {rows, 1}, 3);
      const Array wide = random_array(dtype(), {rows, columns * 2}, 4);
      const Array strided = wide.with_strides({rows, columns}, {columns * 2, 2}, 1);
      const auto at_row = [=](int64_t i) { return std::pair(i, i % columns); };
      const auto at_column = [=](int64_t i) { return std::pair(i, i / columns); };
      const auto same = [](int64_t i) { return std::pair(i, i); };
      check_binary(test, lhs, row, Array(result, {rows, columns}), at_row);
      check_binary(test, lhs, column, Array(result, {rows, columns}), at_column);
      check_binary(test, lhs, strided, Array(result, {rows, columns}), same);
      check_binary(test, lhs, strided, Array(result, {columns, rows}).transposed(0, 1), same);
      const Array gaps(result, {rows, columns * 3});
      check_binary(test, strided, row, gaps.with_strides({rows, columns}, {columns * 3, 3}),
                   at_row);
    }
  }
}

TEST_P(PointwisePerDType, BinaryKernelsReadTransposedOperandsInBlocks) {
  const auto same = [](int64_t i) { return std::pair(i, i); };
  for (const BinaryCase& test : kBinaryCases) {
    if (test.table->find_cpu(dtype()) == nullptr) continue;
    const DType result = test.is_comparison ? DType::boolean : dtype();
    const Array lhs = random_array(dtype(), {3, 70, 50}, 1).transposed(1, 2);
    const Array rhs = random_array(dtype(), {50, 70}, 2);
    const auto in_matrix = [](int64_t i) { return std::pair(i, i % 3500); };
    check_binary(test, lhs, rhs, Array(result, {3, 50, 70}), in_matrix);
    const Array plain = random_array(dtype(), {3, 50, 70}, 3);
    check_binary(test, plain, plain, Array(result, {3, 70, 50}).transposed(1, 2), same);
    const Array row = random_array(dtype(), {70}, 4);
    check_binary(test, lhs, row,
                 Array(result, {3, 50, 140}).with_strides({3, 50, 70}, {7000, 140, 2}),
                 [](int64_t i) { return std::pair(i, i % 70); });
  }
}

TEST_P(PointwisePerDType, BinaryKernelsWorkInPlace) {
  for (const BinaryCase& test : kBinaryCases) {
    if (test.table->find_cpu(dtype()) == nullptr || test.is_comparison) continue;
    const auto same = [](int64_t i) { return std::pair(i, i); };
    for (int64_t n = 1; n <= 70; ++n) {
      const Array lhs = random_array(dtype(), {n}, 1), rhs = random_array(dtype(), {n}, 2);
      check_binary(test, lhs, rhs, lhs, same);
      check_binary(test, lhs, rhs, rhs, same);
    }
  }
}

struct UnaryCase {
  const char* name;
  const KernelTable<UnaryKernel>* table;
  std::function<Complex(Complex)> reference;
};
const UnaryCase kUnaryCases[] = {
    {"neg", &neg_kernels, [](Complex x) { return -x; }},
    {"relu", &relu_kernels, [](Complex x) { return std::max(x.real(), 0.0); }},
    {"exp", &exp_kernels, [](Complex x) { return std::exp(x); }},
    {"tanh", &tanh_kernels, [](Complex x) { return std::tanh(x); }},
    {"conj", &conj_kernels, [](Complex x) { return std::conj(x); }},
};

TEST_P(PointwisePerDType, UnaryKernelsHandleEverySizeInAndOutOfPlace) {
  for (const UnaryCase& test : kUnaryCases) {
    const UnaryKernel kernel = test.table->find_cpu(dtype());
    if (kernel == nullptr) continue;
    for (int64_t n = 0; n <= 70; ++n) {
      const Array input = random_array(dtype(), {n}, 5), kept = random_array(dtype(), {n}, 5);
      const Array out(dtype(), {n});
      kernel(kContext, input.view(), out.view());
      kernel(kContext, input.view(), input.view());
      for (int64_t i = 0; i < n; ++i) {
        const Complex want = as_stored(dtype(), test.reference(kept.get(i)));
        ASSERT_TRUE(is_near(out.get(i), want, 4 * tolerance(dtype()))) << test.name << out.get(i);
        ASSERT_EQ(input.get(i), out.get(i)) << test.name;
      }
    }
  }
}

TEST_P(PointwisePerDType, WhereChoosesByElement) {
  const WhereKernel kernel = where_kernels.find_cpu(dtype());
  ASSERT_NE(kernel, nullptr);
  for (const int64_t n : {0, 1, 7, 70, 700}) {
    const Array condition = random_array(DType::boolean, {n}, 6);
    const Array input = random_array(dtype(), {n}, 7), other = random_array(dtype(), {1}, 8);
    for (const bool swap : {false, true}) {
      const Array& first = swap ? other : input;
      const Array& second = swap ? input : other;
      const Array out(dtype(), {n});
      kernel(kContext, condition.view(), first.view(), second.view(), out.view());
      for (int64_t i = 0; i < n; ++i) {
        const bool takes_input = (condition.real(i) != 0) != swap;
        ASSERT_EQ(out.get(i), takes_input ? input.get(i) : other.get(0));
      }
    }
  }
}

TEST_P(PointwisePerDType, CastConvertsToEveryDType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto to = static_cast<DType>(i);
    const Array input = random_array(dtype(), {5, 14}, 9);
    const Array out(to, {14, 5});
    cast_kernels.find_cpu(dtype())(kContext, input.transposed(0, 1).view(), out.view());
    for (int64_t j = 0; j < 70; ++j) {
      Complex want = input.transposed(0, 1).get(j);
      if (!is_complex(to)) want = to == DType::boolean ? Complex(want != 0.0) : want.real();
      if (is_integer(to)) want = as_stored(to, std::trunc(want.real()));
      ASSERT_TRUE(is_near(out.get(j), want, tolerance(to))) << name_of(to) << out.get(j) << want;
    }
  }
}

TEST_P(PointwisePerDType, FillWritesEveryElementOfAnyStrides) {
  const Array memory(dtype(), {10, 20});
  const Array out = memory.with_strides({7, 6}, {20, 3}, 2);
  fill_kernels.find_cpu(dtype())(kContext, Scalar(1), out.view());
  const std::vector<double> values = memory.reals();
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0), 42.0);
  fill_kernels.find_cpu(dtype())(kContext, Scalar(0), memory.view());
  for (int64_t i = 0; i < memory.numel(); ++i) ASSERT_EQ(memory.get(i), 0.0);
}

TEST(Pointwise, ReluAndItsGradientTreatNaNLikePyTorch) {
  Array x(DType::float32, {3});
  x.set(0, std::nan(""));
  x.set(1, -1.0);
  x.set(2, 2.0);
  const Array out(DType::float32, {3});
  relu_kernels.find_cpu(DType::float32)(kContext, x.view(), out.view());
  EXPECT_TRUE(std::isnan(out.real(0)));
  EXPECT_EQ(out.real(1), 0.0);
  EXPECT_EQ(out.real(2), 2.0);
}

TEST(Pointwise, ArangeCountsInEveryRealDType) {
  for (const DType dtype : {DType::uint8, DType::int64, DType::float16, DType::float64}) {
    const Array out(dtype, {5});
    arange_kernels.find_cpu(dtype)(kContext, Scalar(3), Scalar(2), out.view());
    EXPECT_EQ(out.reals(), (std::vector<double>{3, 5, 7, 9, 11}));
  }
}

}  // namespace
}  // namespace ebb::kernels::test
