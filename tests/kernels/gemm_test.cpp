// tests/kernels/gemm_test.cpp -- the seam to OpenBLAS and oneDNN: which matrices may be passed on.
#include "ebb/kernels/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "ebb/core/base/error.h"

namespace ebb::kernels::cpu {
namespace {

/// Every pair of strides of a matrix that has at most two rows and columns, by which its elements
/// lie at places of their own, one after another or apart.
std::vector<MatrixRef> places_of(const std::vector<float>& memory, int64_t rows, int64_t columns) {
  std::vector<MatrixRef> places;
  for (const int64_t row_stride : {0, 1, 2, 3}) {
    for (const int64_t column_stride : {0, 1, 2, 3}) {
      const MatrixRef one{memory.data(), row_stride, column_stride};
      if (stored_matrix(one, rows, columns)) places.push_back(one);
    }
  }
  return places;
}

TEST(StoredMatrix, AStrideAlongOneElementSaysNothing) {
  for (const int64_t any : {-3, 0, 1, 7}) {
    EXPECT_EQ(stored_matrix({nullptr, any, 1}, 1, 4)->ld, 4);
    EXPECT_EQ(stored_matrix({nullptr, 1, any}, 4, 1)->ld, 1);
    EXPECT_EQ(stored_matrix({nullptr, any, any}, 1, 1)->ld, 1);
  }
}

TEST(StoredMatrix, LinesThatOverlapRepeatOrRunBackwardsAreNotStored) {
  EXPECT_TRUE(stored_matrix({nullptr, 4, 1}, 3, 4));
  EXPECT_TRUE(stored_matrix({nullptr, 1, 3}, 3, 4)->is_turned);
  for (const int64_t stride : {-4, -1, 0, 1, 3}) {
    EXPECT_FALSE(stored_matrix({nullptr, stride, 1}, 3, 4)) << stride;
  }
  for (const int64_t stride : {-4, -1, 0, 1, 2}) {
    EXPECT_FALSE(stored_matrix({nullptr, 1, stride}, 3, 4)) << stride;
  }
  EXPECT_FALSE(stored_matrix({nullptr, 8, 2}, 3, 4));
}

float element(const MatrixRef& matrix, int64_t row, int64_t column) {
  const auto* const data = static_cast<const float*>(matrix.data);
  return data[row * matrix.row_stride + column * matrix.column_stride];
}

void check_product(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
                   bool by_onednn) {
  std::vector<float> out(4, -1);
  const Gemm args{m, n, k, a, b, out.data(), n, false};
  by_onednn ? onednn_gemm(args) : openblas_gemm(DType::float32, args);
  for (int64_t i = 0; i < m * n; ++i) {
    float want = 0;
    for (int64_t p = 0; p < k; ++p) want += element(a, i / n, p) * element(b, p, i % n);
    EXPECT_EQ(out[static_cast<size_t>(i)], want) << m << n << k << " at " << i;
  }
}

TEST(Gemm, TakesEveryWayToStoreASmallMatrix) {
  const std::vector<float> first{1, 2, 3, 4, 5, 6, 7}, second{2, 3, 5, 7, 11, 13, 17};
  for (int64_t sizes = 0; sizes < 8; ++sizes) {
    const int64_t m = 1 + (sizes & 1), n = 1 + (sizes >> 1 & 1), k = 1 + (sizes >> 2);
    for (const MatrixRef& a : places_of(first, m, k)) {
      for (const MatrixRef& b : places_of(second, k, n)) {
        for (const bool by_onednn : {false, true}) check_product(m, n, k, a, b, by_onednn);
      }
    }
  }
}

/// Small integers, of which sums are exact: the product by definition, and by gemm(), of A stored
/// by columns.
template <typename T>
void check_turned(DType dtype, int64_t m, int64_t n, int64_t k, bool accumulate) {
  const int64_t ldc = n + 3;
  std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 5) - 2;
  std::vector<T> out(static_cast<size_t>(m * ldc), 5);
  gemm(dtype, {m, n, k, {a.data(), 1, m}, {b.data(), n, 1}, out.data(), ldc, accumulate});
  for (int64_t i = 0; i < m * ldc; ++i) {
    const int64_t row = i / ldc, column = i % ldc;
    T want = accumulate || column >= n ? 5 : 0;
    for (int64_t p = 0; p < k && column < n; ++p) {
      want += a[static_cast<size_t>(p * m + row)] * b[static_cast<size_t>(p * n + column)];
    }
    ASSERT_EQ(out[static_cast<size_t>(i)], want) << m << " " << n << " " << k << " at " << i;
  }
}

TEST(Gemm, TurnsProductsWithFewColumnsRound) {
  for (const int64_t n : {1, 2, 7, 16, 17}) {
    for (const bool accumulate : {false, true}) {
      for (const int64_t k : {127, 128}) {
        for (const int64_t m : {63, 64, 71}) {
          check_turned<float>(DType::float32, m, n, k, accumulate);
        }
      }
      check_turned<double>(DType::float64, 255, n, 1024, accumulate);
      check_turned<double>(DType::float64, 259, n, 1023, accumulate);
      check_turned<double>(DType::float64, 259, n, 1025, accumulate);
    }
  }
}

TEST(Gemm, PacksLinesThatLieAMultipleOfTwoKilobytesApart) {
  for (const bool accumulate : {false, true}) {
    for (const int64_t k : {127, 128, 131}) {
      check_turned<float>(DType::float32, 512, 23, k, accumulate);   // A stored by columns
      check_turned<float>(DType::float32, 15, 1024, k, accumulate);  // B by rows
      check_turned<float>(DType::float32, 16, 1024, k, accumulate);
      check_turned<float>(DType::float32, 512, 512, k, accumulate);
    }
  }
}

TEST(Gemm, WhatTheLibrariesWouldRefuseIsAnErrorAndPrintsNothing) {
  std::vector<double> memory(64, 1);
  const MatrixRef good{memory.data(), 4, 1};
  const Gemm bad[] = {{4, 4, 4, {memory.data(), 2, 1}, good, memory.data(), 4, false},
                      {4, 4, 4, good, {memory.data(), 1, 0}, memory.data(), 4, false},
                      {4, 4, 4, good, good, memory.data(), 3, false},
                      {4, 0, 4, good, good, memory.data(), 4, false},
                      {4, 1, 4, good, {memory.data(), 0, 1}, memory.data(), 1, false}};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (const Gemm& args : bad) {
    EXPECT_THROW(openblas_gemm(DType::float64, args), InternalError);
    EXPECT_THROW(openblas_gemm(DType::complex64, args), InternalError);
    EXPECT_THROW(onednn_gemm(args), InternalError);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace ebb::kernels::cpu
