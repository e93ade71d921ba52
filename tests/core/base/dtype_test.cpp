// tests/core/base/dtype_test.cpp -- element types and the promotion table, pair by pair.
#include "ebb/core/base/dtype.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace ebb {
namespace {

// In the order of DType.
constexpr const char* kNames[kDTypeCount] = {
    "bool",  "uint8",   "uint16",   "uint32",  "uint64",  "int8",      "int16",     "int32",
    "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};

// Row and column in the order of DType, with NumPy's codes (bf is bfloat16).
constexpr const char* kPromotion[kDTypeCount] = {
    "b1 u1 u2 u4 u8 i1 i2 i4 i8 f2 bf f4 f8 c8 cF",  // bool
    "u1 u1 u2 u4 u8 i2 i2 i4 i8 f2 bf f4 f8 c8 cF",  // uint8
    "u2 u2 u2 u4 u8 i4 i4 i4 i8 f2 bf f4 f8 c8 cF",  // uint16
    "u4 u4 u4 u4 u8 i8 i8 i8 i8 f2 bf f4 f8 c8 cF",  // uint32
    "u8 u8 u8 u8 u8 f4 f4 f4 f4 f2 bf f4 f8 c8 cF",  // uint64: no integer holds it and a sign
    "i1 i2 i4 i8 f4 i1 i2 i4 i8 f2 bf f4 f8 c8 cF",  // int8
    "i2 i2 i4 i8 f4 i2 i2 i4 i8 f2 bf f4 f8 c8 cF",  // int16
    "i4 i4 i4 i8 f4 i4 i4 i4 i8 f2 bf f4 f8 c8 cF",  // int32
    "i8 i8 i8 i8 f4 i8 i8 i8 i8 f2 bf f4 f8 c8 cF",  // int64
    "f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f4 f4 f8 c8 cF",  // float16
    "bf bf bf bf bf bf bf bf bf f4 bf f4 f8 c8 cF",  // bfloat16
    "f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f8 c8 cF",  // float32
    "f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 cF cF",  // float64
    "c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 cF c8 cF",  // complex64
    "cF cF cF cF cF cF cF cF cF cF cF cF cF cF cF",  // complex128
};

std::string code_of(DType dtype) {
  constexpr const char* codes[kDTypeCount] = {"b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4",
                                              "i8", "f2", "bf", "f4", "f8", "c8", "cF"};
  return codes[static_cast<int>(dtype)];
}

TEST(DType, PromotesEveryPairAsTheTableSays) {
  for (int row = 0; row < kDTypeCount; ++row) {
    std::istringstream expected(kPromotion[row]);
    for (int column = 0; column < kDTypeCount; ++column) {
      std::string code;
      expected >> code;
      const auto lhs = static_cast<DType>(row);
      const auto rhs = static_cast<DType>(column);
      EXPECT_EQ(code_of(promote(lhs, rhs)), code) << lhs << " with " << rhs;
    }
  }
}

TEST(DType, PromotesTheSameInBothOrders) {
  for (int row = 0; row < kDTypeCount; ++row) {
    for (int column = 0; column < row; ++column) {
      const auto lhs = static_cast<DType>(row);
      const auto rhs = static_cast<DType>(column);
      EXPECT_EQ(promote(lhs, rhs), promote(rhs, lhs)) << lhs << " with " << rhs;
    }
  }
}

TEST(DType, IsPrintedByItsPublicName) {
  for (int index = 0; index < kDTypeCount; ++index) {
    std::ostringstream out;
    out << static_cast<DType>(index);
    EXPECT_EQ(out.str(), kNames[index]);
  }
}

TEST(DType, KnowsTheSizeOfItsCppType) {
  for (int index = 0; index < kDTypeCount; ++index) {
    const auto dtype = static_cast<DType>(index);
    const size_t bytes = visit_dtype(dtype, []<typename T>(TypeTag<T>) { return sizeof(T); });
    EXPECT_EQ(item_size(dtype), bytes) << dtype;
  }
}

TEST(DType, IsVisitedAsItsOwnCppType) {
  for (int index = 0; index < kDTypeCount; ++index) {
    const auto dtype = static_cast<DType>(index);
    EXPECT_EQ(visit_dtype(dtype, []<typename T>(TypeTag<T>) { return dtype_of<T>; }), dtype);
  }
}

TEST(DType, BelongsToExactlyOneKind) {
  for (int index = 0; index < kDTypeCount; ++index) {
    const auto dtype = static_cast<DType>(index);
    const int kinds = int{dtype == DType::boolean} + int{is_integer(dtype)} +
                      int{is_floating(dtype)} + int{is_complex(dtype)};
    EXPECT_EQ(kinds, 1) << dtype;
    EXPECT_EQ(is_differentiable(dtype), kind_of(dtype) >= Kind::floating) << dtype;
  }
}

TEST(DType, PairsRealAndComplexTypes) {
  EXPECT_EQ(real_type_of(DType::complex64), DType::float32);
  EXPECT_EQ(real_type_of(DType::complex128), DType::float64);
  EXPECT_EQ(real_type_of(DType::float16), DType::float16);
  EXPECT_EQ(complex_type_of(DType::float64), DType::complex128);
  EXPECT_EQ(complex_type_of(DType::float32), DType::complex64);
  EXPECT_EQ(complex_type_of(DType::bfloat16), DType::complex64);
}

}  // namespace
}  // namespace ebb
