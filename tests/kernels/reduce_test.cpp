// tests/kernels/reduce_test.cpp -- sum, mean, amax and amin over any dims, strides and sizes.
#include <gtest/gtest.h>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/tables/amax.h"
#include "ebb/kernels/tables/amin.h"
#include "ebb/kernels/tables/mean.h"
#include "ebb/kernels/tables/sum.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

/// Number of out's element that element `index` of `input` is reduced to.
int64_t output_of(const Array& input, const Array& out, int64_t index) {
  int64_t result = 0, step = 1;
  for (size_t dim = input.sizes().size(); dim-- > 0;) {
    const int64_t at = index % input.sizes()[dim];
    index /= input.sizes()[dim];
    if (out.sizes()[dim] != 1) result += at * step;
    step *= out.sizes()[dim];
  }
  return result;
}

enum class Kind { sum, mean, amax, amin };

ReduceKernel kernel_of(Kind kind, DType dtype) {
  if (kind == Kind::sum) return sum_kernels.find_cpu(dtype);
  if (kind == Kind::mean) return mean_kernels.find_cpu(dtype);
  return kind == Kind::amax ? amax_kernels.find_cpu(dtype) : amin_kernels.find_cpu(dtype);
}

void check(Kind kind, const Array& input, const std::vector<int64_t>& sizes) {
  const DType dtype = input.dtype();
  const Array out(dtype, sizes);
  kernel_of(kind, dtype)(kContext, input.view(), out.view());
  const bool adds = kind == Kind::sum || kind == Kind::mean;
  const Complex start = adds ? 0.0 : kind == Kind::amax ? -1e30 : 1e30;
  std::vector<Complex> want(static_cast<size_t>(out.numel()), start);
  std::vector<double> size(want.size(), 0.0);
  for (int64_t i = 0; i < input.numel(); ++i) {
    const auto to = static_cast<size_t>(output_of(input, out, i));
    const Complex value = input.get(i);
    if (adds) {
      want[to] += value;
      size[to] += std::abs(value);
    } else {
      const double before = want[to].real(), next = value.real();
      want[to] = kind == Kind::amax ? std::max(before, next) : std::min(before, next);
    }
  }
  const double count = static_cast<double>(input.numel()) / static_cast<double>(out.numel());
  for (int64_t i = 0; i < out.numel(); ++i) {
    const auto at = static_cast<size_t>(i);
    const Complex expected = kind == Kind::mean ? want[at] / count : want[at];
    const double slack = tolerance(dtype) * (1 + size[at] / (kind == Kind::mean ? count : 1));
    ASSERT_LE(std::abs(out.get(i) - expected), slack)
        << name_of(dtype) << " kind " << static_cast<int>(kind) << " at " << i << " of "
        << PrintShape{sizes} << " from " << PrintShape{input.sizes()} << ": " << out.get(i)
        << " want " << expected;
  }
}

void check_all_kinds(const Array& input, const std::vector<int64_t>& sizes) {
  for (const Kind kind : {Kind::sum, Kind::mean, Kind::amax, Kind::amin}) {
    if (kernel_of(kind, input.dtype()) != nullptr) check(kind, input, sizes);
  }
}

class ReducePerDType : public PerDType {};
INSTANTIATE_TEST_SUITE_P(All, ReducePerDType, kEveryDType, dtype_name);

TEST_P(ReducePerDType, RowsAndColumnsOfEverySize) {
  for (int64_t n = 1; n <= 70; ++n) {
    check_all_kinds(random_array(dtype(), {n}, 1), {1});
    check_all_kinds(random_array(dtype(), {3, n}, 2), {3, 1});
    check_all_kinds(random_array(dtype(), {n, 3}, 3), {1, 3});
    check_all_kinds(random_array(dtype(), {5, n}, 4), {1, n});
  }
}

TEST_P(ReducePerDType, LongRowsAndColumns) {
  check_all_kinds(random_array(dtype(), {70000}, 1), {1});
  check_all_kinds(random_array(dtype(), {2, 33000}, 2), {2, 1});
  check_all_kinds(random_array(dtype(), {2100, 3}, 3), {1, 3});
  check_all_kinds(random_array(dtype(), {40, 600}, 4), {1, 600});
  check_all_kinds(random_array(dtype(), {3, 1030, 7}, 5), {3, 1, 7});
  check_all_kinds(random_array(dtype(), {70001, 2}, 6), {1, 2});  // several chunks, and a rest
}

TEST_P(ReducePerDType, AnyDimsOfStridedInput) {
  const Array cube = random_array(dtype(), {4, 5, 6}, 6);
  const std::vector<std::vector<int64_t>> results = {{1, 5, 6}, {4, 1, 6}, {4, 5, 1}, {1, 1, 6},
                                                     {1, 5, 1}, {4, 1, 1}, {1, 1, 1}, {4, 5, 6}};
  for (const auto& sizes : results) {
    check_all_kinds(cube, sizes);
    const Array turned = random_array(dtype(), {6, 5, 4}, 7).transposed(0, 2);
    check_all_kinds(turned, sizes);
    const Array wide = random_array(dtype(), {8, 5, 18}, 8);
    check_all_kinds(wide.with_strides({4, 5, 6}, {180, 18, 3}, 2), sizes);
    const Array stretched = random_array(dtype(), {5}, 9);
    check_all_kinds(stretched.with_strides({4, 5, 6}, {0, 1, 0}), sizes);
  }
}

TEST(Reduce, NothingSumsToZeroAndHasNoMean) {
  const Array nothing(DType::float32, {0, 3});
  Array out(DType::float32, {1, 3});
  out.set(1, 5.0);
  sum_kernels.find_cpu(DType::float32)(kContext, nothing.view(), out.view());
  EXPECT_EQ(out.reals(), (std::vector<double>{0, 0, 0}));
  mean_kernels.find_cpu(DType::float32)(kContext, nothing.view(), out.view());
  EXPECT_TRUE(std::isnan(out.real(2)));
}

TEST(Reduce, ExtremaPassNaNOn) {
  for (const int64_t place : {0, 3, 40, 69}) {
    Array input = random_array(DType::float32, {70}, 1);
    input.set(place, std::nan(""));
    Array out(DType::float32, {1});
    amax_kernels.find_cpu(DType::float32)(kContext, input.view(), out.view());
    EXPECT_TRUE(std::isnan(out.real(0))) << place;
    out.set(0, 0.0);
    amin_kernels.find_cpu(DType::float32)(kContext, input.view(), out.view());
    EXPECT_TRUE(std::isnan(out.real(0))) << place;
  }
}

TEST(Reduce, ErrorGrowsWithTheLogarithmOfTheCount) {
  const int64_t count = 1 << 22;
  Array input(DType::float32, {count});
  double exact = 0;
  for (int64_t i = 0; i < count; ++i) {
    input.set(i, 0.1 + 1e-3 * static_cast<double>(i % 97));
    exact += input.real(i);
  }
  const Array out(DType::float32, {1});
  sum_kernels.find_cpu(DType::float32)(kContext, input.view(), out.view());
  EXPECT_LE(std::abs(out.real(0) - exact), 2 * 0x1p-23 * 22 * exact);
}

TEST(Reduce, IsBitwiseTheSameForAnyNumberOfThreads) {
  const Array flat = random_array(DType::float32, {300000}, 1);
  const Array tall = random_array(DType::float32, {30000, 10}, 2);
  std::vector<std::vector<char>> first;
  for (const int threads : {1, 2, 3, 4, 8}) {
    set_num_threads(threads);
    const Array total(DType::float32, {1}), columns(DType::float32, {1, 10});
    sum_kernels.find_cpu(DType::float32)(kContext, flat.view(), total.view());
    sum_kernels.find_cpu(DType::float32)(kContext, tall.view(), columns.view());
    const std::vector<std::vector<char>> bytes = {total.bytes(), columns.bytes()};
    if (threads == 1) first = bytes;
    EXPECT_EQ(bytes, first) << threads;
  }
  set_num_threads(1);
}

}  // namespace
}  // namespace ebb::kernels::test
