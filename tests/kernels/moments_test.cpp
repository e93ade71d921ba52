// tests/kernels/moments_test.cpp -- products, variances, norms, extrema with indices, and dropout.
#include <gtest/gtest.h>

#include <limits>

#include "ebb/core/base/random.h"
#include "ebb/kernels/tables/dropout.h"
#include "ebb/kernels/tables/min_dim.h"
#include "ebb/kernels/tables/norm.h"
#include "ebb/kernels/tables/prod.h"
#include "ebb/kernels/tables/std.h"
#include "ebb/kernels/tables/var.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// What becomes of one line of numbers.
using Line = std::vector<double>;

double variance_of(const Line& line) {
  double mean = 0, squares = 0;
  for (const double x : line) mean += x / static_cast<double>(line.size());
  for (const double x : line) squares += (x - mean) * (x - mean);
  return squares / (static_cast<double>(line.size()) - 1);
}

double norm_of(const Line& line, double p) {
  double sum = 0, largest = 0, smallest = kInf;
  for (const double x : line) {
    const double size = std::abs(x);
    largest = std::max(largest, size);
    smallest = std::min(smallest, size);
    sum += p == 0 ? (x != 0 ? 1.0 : 0.0) : std::pow(size, p);
  }
  if (std::isinf(p)) return p > 0 ? largest : smallest;
  return p == 0 ? sum : std::pow(sum, 1 / p);
}

/// Element (i, j) of a [rows, columns] array along row `line`, or along column `line`.
Line line_of(const Array& input, bool is_row, int64_t line) {
  const int64_t columns = input.sizes()[1];
  const int64_t count = is_row ? columns : input.sizes()[0];
  Line values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(input.real(is_row ? line * columns + i : i * columns + line));
  }
  return values;
}

class MomentsPerDType : public PerDType {
 protected:
  /// Compares a kernel's result over rows and over columns with `want` of each line.
  template <class Run, class Want>
  void check(const Array& input, Run run, Want want, double slack) {
    for (const bool is_row : {true, false}) {
      const std::vector<int64_t> sizes = is_row ? std::vector<int64_t>{input.sizes()[0], 1}
                                                : std::vector<int64_t>{1, input.sizes()[1]};
      const Array out(dtype(), sizes);
      run(input.view(), out.view());
      for (int64_t i = 0; i < out.numel(); ++i) {
        const double expected = want(line_of(input, is_row, i));
        ASSERT_TRUE(is_near(out.real(i), expected, slack * tolerance(dtype())))
            << name_of(dtype()) << (is_row ? " row " : " column ") << i << " of "
            << PrintShape{input.sizes()} << ": " << out.real(i) << " want " << expected;
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, MomentsPerDType, kFloatingDTypes, dtype_name);

const std::vector<std::vector<int64_t>> kShapes = {{2, 2},    {3, 17},   {65, 5},   {2, 33000},
                                                   {1100, 3}, {40, 300}, {2100, 70}};

TEST_P(MomentsPerDType, VarianceIsThatOfEachLine) {
  for (const auto& sizes : kShapes) {
    check(
        random_array(dtype(), sizes, 1),
        [&](const TensorView& in, const TensorView& out) {
          var_kernels.find_cpu(dtype())(kContext, in, 1.0, out);
        },
        variance_of, 4);
    check(
        random_array(dtype(), {sizes[1], sizes[0]}, 2).transposed(0, 1),
        [&](const TensorView& in, const TensorView& out) {
          std_kernels.find_cpu(dtype())(kContext, in, 1.0, out);
        },
        [](const Line& line) { return std::sqrt(variance_of(line)); }, 4);
  }
}

TEST_P(MomentsPerDType, NormsOfEveryOrder) {
  for (const double p : {0.0, 0.5, 1.0, 2.0, 3.0, kInf, -kInf}) {
    if (p == 0.5 && dtype() == DType::float16) continue;  // above the largest float16
    for (const auto& sizes : {std::vector<int64_t>{3, 17}, {65, 5}, {1100, 3}, {40, 300}}) {
      check(
          random_array(dtype(), sizes, 3),
          [&](const TensorView& in, const TensorView& out) {
            norm_kernels.find_cpu(dtype())(kContext, in, p, out);
          },
          [&](const Line& line) { return norm_of(line, p); }, 8);
    }
  }
}

TEST(Prod, MultipliesNumbersOfEveryKind) {
  for (const DType dtype : {DType::int64, DType::float16, DType::float32, DType::float64,
                            DType::complex64, DType::complex128}) {
    for (const int64_t n : {1, 3, 16, 33}) {
      Array input(dtype, {n, 2});
      Complex want[2] = {1, 1};
      for (int64_t i = 0; i < 2 * n; ++i) {
        input.set(i, is_complex(dtype) ? Complex(0.5, 1.0) : Complex(i % 5 == 0 ? -2 : 1));
        want[i % 2] *= input.get(i);
      }
      const Array out(dtype, {1, 2});
      prod_kernels.find_cpu(dtype)(kContext, input.view(), out.view());
      for (int64_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(is_near(out.get(i), want[i], 8 * tolerance(dtype))) << name_of(dtype) << n;
      }
    }
  }
}

TEST(Prod, OfIntegersWrapsAround) {
  Array input(DType::int64, {70});
  for (int64_t i = 0; i < 70; ++i) input.set(i, 3.0);
  uint64_t want = 1;
  for (int i = 0; i < 70; ++i) want *= 3;
  const Array out(DType::int64, {1});
  prod_kernels.find_cpu(DType::int64)(kContext, input.view(), out.view());
  EXPECT_EQ(static_cast<uint64_t>(out.integer(0)), want);
}

TEST(Extremum, IsTheFirstOneInDenseAndStridedLines) {
  for (const DType dtype : {DType::boolean, DType::uint8, DType::int16, DType::int64,
                            DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    for (const int64_t n : {1, 5, 64, 67, 40000}) {
      const Array rows = random_array(dtype, {2, n}, 5);
      for (const bool is_dense : {true, false}) {
        const Array input = is_dense ? rows : rows.transposed(0, 1);
        const int dim = is_dense ? 1 : 0;
        const std::vector<int64_t> sizes =
            is_dense ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{1, 2};
        const Array values(dtype, sizes), indices(DType::int64, sizes);
        min_dim_kernels.find_cpu(dtype)(kContext, input.view(), dim, values.view(), indices.view());
        for (int64_t line = 0; line < 2; ++line) {
          int64_t best = 0;
          for (int64_t i = 1; i < n; ++i) {
            if (rows.real(line * n + i) < rows.real(line * n + best)) best = i;
          }
          EXPECT_EQ(indices.integer(line), best) << name_of(dtype) << n;
          EXPECT_EQ(values.real(line), rows.real(line * n + best));
        }
      }
    }
  }
}

TEST(Dropout, UsesTheWordsOfTheSequence) {
  const int64_t count = 1543;
  const RandomState state{uint64_t{0x123456789abcdef0}, 0xfffffff0};  // the counter carries over
  Array input(DType::float32, {count});
  for (int64_t i = 0; i < count; ++i) input.set(i, static_cast<double>(i));
  const Array out(DType::float32, {count}), mask(DType::boolean, {count});
  dropout_kernels.find_cpu(DType::float32)(kContext, input.view(), state, 0.5, out.view(),
                                           mask.view());
  for (int64_t i = 0; i < count; ++i) {
    const auto words = random_words(state, static_cast<uint64_t>(i / 4));
    const bool is_kept = words[static_cast<size_t>(i % 4)] >= 0x80000000u;
    ASSERT_EQ(mask.real(i) != 0, is_kept) << i;
    ASSERT_EQ(out.real(i), is_kept ? 2.0 * static_cast<double>(i) : 0.0);
  }
}

}  // namespace
}  // namespace ebb::kernels::test
