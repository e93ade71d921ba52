// tests/kernels/matmul_test.cpp -- matmul and linear against the triple loop.
#include "ebb/kernels/tables/matmul.h"

#include <gtest/gtest.h>

#include <thread>

#include "ebb/core/base/error.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/tables/linear.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

/// Element of a matrix in a batch that broadcasts.
Complex element(const Array& array, int64_t batch, int64_t row, int64_t column) {
  const auto& sizes = array.sizes();
  const int64_t rows = sizes[sizes.size() - 2], columns = sizes[sizes.size() - 1];
  const int64_t batches = array.numel() / (rows * columns);
  return array.get(((batch % batches) * rows + row) * columns + column);
}

void check_matmul(const Array& a, const Array& b, const Array& out) {
  const DType dtype = a.dtype();
  matmul_kernels.find_cpu(dtype)(kContext, a.view(), b.view(), out.view());
  const int64_t m = a.sizes()[a.sizes().size() - 2], k = a.sizes().back(), n = b.sizes().back();
  const int64_t batches = out.numel() / std::max<int64_t>(1, m * n);
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Complex want = 0;
        for (int64_t p = 0; p < k; ++p) want += element(a, batch, i, p) * element(b, batch, p, j);
        Array stored(dtype, {1});
        stored.set(0, want);
        if (!is_floating(dtype) && !is_complex(dtype)) want = stored.get(0);
        const double slack = tolerance(dtype) * (1 + 4 * static_cast<double>(k));
        ASSERT_LE(std::abs(element(out, batch, i, j) - want), slack)
            << name_of(dtype) << ' ' << m << 'x' << k << 'x' << n << " at " << i << ',' << j << ": "
            << element(out, batch, i, j) << " want " << want;
      }
    }
  }
}

class MatmulPerDType : public PerDType {
 protected:
  bool is_supported() const { return matmul_kernels.find_cpu(dtype()) != nullptr; }
};
INSTANTIATE_TEST_SUITE_P(All, MatmulPerDType, kEveryDType, dtype_name);

TEST_P(MatmulPerDType, EverySmallShapeAndTransposition) {
  if (!is_supported()) return;
  for (const int64_t m : {1, 2, 5, 17}) {
    for (const int64_t k : {1, 3, 16}) {
      for (const int64_t n : {1, 2, 7, 16, 33}) {
        const Array a = random_array(dtype(), {m, k}, 1), b = random_array(dtype(), {k, n}, 2);
        const Array at = random_array(dtype(), {k, m}, 3).transposed(0, 1);
        const Array bt = random_array(dtype(), {n, k}, 4).transposed(0, 1);
        check_matmul(a, b, Array(dtype(), {m, n}));
        check_matmul(at, b, Array(dtype(), {m, n}));
        check_matmul(a, bt, Array(dtype(), {m, n}));
        check_matmul(at, bt, Array(dtype(), {m, n}));
      }
    }
  }
}

TEST_P(MatmulPerDType, LargerShapesStridesAndBatches) {
  if (!is_supported()) return;
  check_matmul(random_array(dtype(), {70, 90}, 1), random_array(dtype(), {90, 80}, 2),
               Array(dtype(), {70, 80}));
  {  // a matrix and a vector, on either side and transposed
    const Array column = random_array(dtype(), {90, 1}, 2), row = random_array(dtype(), {1, 70}, 2);
    const Array wide = random_array(dtype(), {70, 90}, 3),
                tall = random_array(dtype(), {90, 70}, 3);
    check_matmul(wide, column, Array(dtype(), {70, 1}));
    check_matmul(tall.transposed(0, 1), column, Array(dtype(), {70, 1}));
    check_matmul(row, wide, Array(dtype(), {1, 90}));
    check_matmul(row, tall.transposed(0, 1), Array(dtype(), {1, 90}));
  }
  const Array gaps = random_array(dtype(), {40, 60}, 3);
  check_matmul(gaps.with_strides({20, 30}, {120, 2}), gaps.with_strides({30, 9}, {60, 3}, 1),
               Array(dtype(), {9, 20}).transposed(0, 1));
  check_matmul(gaps.with_strides({6, 5}, {0, 1}), gaps.with_strides({5, 6}, {1, 0}),
               Array(dtype(), {6, 6}));
  check_matmul(random_array(dtype(), {3, 2, 4, 5}, 4), random_array(dtype(), {2, 5, 6}, 5),
               Array(dtype(), {3, 2, 4, 6}));
  check_matmul(random_array(dtype(), {7, 1, 5}, 6), random_array(dtype(), {5, 6}, 7),
               Array(dtype(), {7, 1, 6}));
}

TEST_P(MatmulPerDType, LinearAddsTheBiasToEveryRow) {
  if (!is_supported()) return;
  const Array input = random_array(dtype(), {6, 40}, 1),
              weight = random_array(dtype(), {10, 40}, 2);
  const Array bias = random_array(dtype(), {10}, 3);
  const Array product(dtype(), {6, 10}), out(dtype(), {6, 10});
  const TensorView bias_view = bias.view();
  linear_kernels.find_cpu(dtype())(kContext, input.view(), weight.view(), nullptr, product.view());
  linear_kernels.find_cpu(dtype())(kContext, input.view(), weight.view(), &bias_view, out.view());
  check_matmul(input, weight.transposed(0, 1), product);
  for (int64_t i = 0; i < 60 && (is_floating(dtype()) || is_complex(dtype())); ++i) {
    const Complex want = product.get(i) + bias.get(i % 10);
    ASSERT_TRUE(is_near(out.get(i), want, 40 * tolerance(dtype()))) << out.get(i) << want;
  }
}

TEST(Matmul, NoInnerElementsGiveZerosOrTheBias) {
  const Array a(DType::float32, {2, 0}), b(DType::float32, {0, 3});
  Array out(DType::float32, {2, 3});
  out.set(0, 7.0);
  matmul_kernels.find_cpu(DType::float32)(kContext, a.view(), b.view(), out.view());
  EXPECT_EQ(out.reals(), std::vector<double>(6, 0.0));
}

TEST(Matmul, RefusesSizesThatTheLibraryCannotCount) {
  double number = 1.0;
  const int64_t huge = int64_t{1} << 31;
  const cpu::Gemm args{2, 1, 1, {&number, huge, 1}, {&number, 1, 1}, &number, 1, false};
  try {
    cpu::openblas_gemm(DType::float64, args);
    FAIL();
  } catch (const NotImplementedError& error) {
    EXPECT_STREQ(error.what(),
                 "matmul: OpenBLAS needs sizes and strides below 2^31, got 2147483648");
  }
}

TEST(Matmul, IsBitwiseTheSameForAnyNumberOfThreads) {
  const Array a = random_array(DType::float32, {300, 200}, 1);
  const Array b = random_array(DType::float32, {200, 250}, 2);
  std::vector<char> first;
  for (const int threads : {1, 2, 3, 4, 8}) {
    set_num_threads(threads);
    const Array out(DType::float32, {300, 250});
    matmul_kernels.find_cpu(DType::float32)(kContext, a.view(), b.view(), out.view());
    if (threads == 1) first = out.bytes();
    EXPECT_EQ(out.bytes(), first) << threads;
  }
  set_num_threads(1);
}

TEST(Matmul, ManyThreadsMayCallAtOnce) {
  const Array a = random_array(DType::float32, {120, 130}, 1);
  const Array b = random_array(DType::float32, {130, 110}, 2);
  const Array want(DType::float32, {120, 110});
  matmul_kernels.find_cpu(DType::float32)(kContext, a.view(), b.view(), want.view());
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const Array out(DType::float32, {120, 110});
        matmul_kernels.find_cpu(DType::float32)(kContext, a.view(), b.view(), out.view());
        wrong[t] += out.bytes() != want.bytes();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

}  // namespace
}  // namespace ebb::kernels::test
