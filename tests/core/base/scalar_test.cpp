// tests/core/base/scalar_test.cpp -- numbers from the user's program: kinds, promotion, conversion.
#include "ebb/core/base/scalar.h"

#include <gtest/gtest.h>

#include <limits>

#include "ebb/core/base/error.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

/// `scalar` as one element of type T.
template <typename T>
T stored(const Scalar& scalar) {
  alignas(16) unsigned char where[16] = {};
  scalar.store_as(dtype_of<T>, where, "test");
  return *reinterpret_cast<T*>(where);
}

template <typename T>
std::string refusal(const Scalar& scalar) {
  return error_of<ValueError>([&] { stored<T>(scalar); });
}

TEST(Scalar, KeepsTheKindItWasWrittenWith) {
  EXPECT_EQ(Scalar(true).kind(), Kind::boolean);
  EXPECT_EQ(Scalar(uint8_t{1}).kind(), Kind::integer);
  EXPECT_EQ(Scalar(1.0f).kind(), Kind::floating);
  EXPECT_EQ(Scalar(std::complex<double>(1)).kind(), Kind::complex);
  EXPECT_EQ(Scalar().kind(), Kind::integer);
}

TEST(Scalar, RefusesAnIntegerThatInt64CannotHold) {
  EXPECT_EQ(Scalar(uint64_t{1} << 62).to_int(), int64_t{1} << 62);
  EXPECT_EQ(error_of<ValueError>([] { Scalar(UINT64_MAX); }),
            "scalar: needs an integer of at most 9223372036854775807, got 18446744073709551615");
}

TEST(Scalar, IsWeakerThanATensorOfItsKind) {
  EXPECT_EQ(Scalar(2.0).promote_with(DType::float16), DType::float16);
  EXPECT_EQ(Scalar(2).promote_with(DType::uint8), DType::uint8);
  EXPECT_EQ(Scalar(true).promote_with(DType::int32), DType::int32);
  EXPECT_EQ(Scalar(2.0).promote_with(DType::complex64), DType::complex64);
}

TEST(Scalar, RaisesATensorOfALowerKindToTheDefaultOfItsOwn) {
  EXPECT_EQ(Scalar(2).promote_with(DType::boolean), DType::int64);
  EXPECT_EQ(Scalar(2.0).promote_with(DType::int64), DType::float32);
  EXPECT_EQ(Scalar(2.0).promote_with(DType::boolean), DType::float32);
  EXPECT_EQ(Scalar(std::complex<double>(2)).promote_with(DType::int8), DType::complex64);
  EXPECT_EQ(Scalar(std::complex<double>(2)).promote_with(DType::float64), DType::complex128);
}

TEST(Scalar, MakesTensorsOfTheDefaultTypeOfItsKind) {
  EXPECT_EQ(Scalar(false).default_dtype(), DType::boolean);
  EXPECT_EQ(Scalar(1).default_dtype(), DType::int64);
  EXPECT_EQ(Scalar(1.5).default_dtype(), DType::float32);
  EXPECT_EQ(Scalar(std::complex<double>(1)).default_dtype(), DType::complex64);
}

TEST(Scalar, FollowsTheDefaultDTypeOfTheProcess) {
  set_default_dtype(DType::float64);
  EXPECT_EQ(Scalar(1.5).default_dtype(), DType::float64);
  EXPECT_EQ(Scalar(1.5).promote_with(DType::int8), DType::float64);
  EXPECT_EQ(Scalar(1.5).promote_with(DType::float16), DType::float16);
  EXPECT_EQ(Scalar(std::complex<double>(1)).default_dtype(), DType::complex128);
  EXPECT_EQ(promote(DType::uint64, DType::int64), DType::float64);
  set_default_dtype(DType::float32);
  EXPECT_EQ(error_of<DTypeError>([] { set_default_dtype(DType::int8); }),
            "set_default_dtype: needs a floating dtype, got int8");
}

TEST(Scalar, StoresTheBoundsOfEveryIntegerType) {
  EXPECT_EQ(stored<int8_t>(-128), -128);
  EXPECT_EQ(stored<uint8_t>(255), 255);
  EXPECT_EQ(stored<uint32_t>(4294967295), 4294967295u);
  EXPECT_EQ(stored<int64_t>(std::numeric_limits<int64_t>::min()),
            std::numeric_limits<int64_t>::min());
}

TEST(Scalar, RefusesIntegersOutOfTheTypesRange) {
  EXPECT_EQ(refusal<uint8_t>(256), "test: the number must fit into uint8, got 256");
  EXPECT_EQ(refusal<uint8_t>(-1), "test: the number must fit into uint8, got -1");
  EXPECT_EQ(refusal<int8_t>(-129), "test: the number must fit into int8, got -129");
  EXPECT_EQ(refusal<uint64_t>(-1), "test: the number must fit into uint64, got -1");
}

TEST(Scalar, CutsFloatsToIntegersAndRefusesThoseThatDoNotFit) {
  EXPECT_EQ(stored<int32_t>(-2.9), -2);
  EXPECT_EQ(stored<uint8_t>(255.9), 255);
  EXPECT_EQ(refusal<int64_t>(0x1p63), "test: the number must fit into int64, got 9.22337e+18");
  EXPECT_EQ(stored<int64_t>(-0x1p63), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(refusal<int32_t>(std::numeric_limits<double>::quiet_NaN()),
            "test: the number must fit into int32, got nan");
}

TEST(Scalar, StoresAsEveryFloatingType) {
  EXPECT_EQ(stored<double>(0.1), 0.1);
  EXPECT_EQ(stored<float>(0.1), 0.1f);
  EXPECT_EQ(stored<Half>(1.5).bits, 0x3e00u);
  EXPECT_EQ(stored<BFloat16>(1.5).bits, 0x3fc0u);
  EXPECT_EQ(stored<std::complex<float>>(std::complex<double>(1, -2)), std::complex<float>(1, -2));
}

TEST(Scalar, IsTrueUnlessZero) {
  EXPECT_FALSE(stored<bool>(0));
  EXPECT_TRUE(stored<bool>(0.25));
  EXPECT_TRUE(stored<bool>(std::complex<double>(0, 1)));
}

TEST(Scalar, RefusesToDropAnImaginaryPart) {
  const std::complex<double> number(1, 2);
  EXPECT_EQ(refusal<float>(number), "test: the number must fit into float32, got (1,2)");
  EXPECT_EQ(refusal<int32_t>(number), "test: the number must fit into int32, got (1,2)");
  EXPECT_EQ(stored<float>(std::complex<double>(3, 0)), 3.0f);
}

TEST(Scalar, IsPrintedAsItIsWritten) {
  EXPECT_EQ(str(Scalar(true), ' ', Scalar(-3), ' ', Scalar(1.5)), "True -3 1.5");
  EXPECT_EQ(str(Scalar(std::complex<double>(1, 2))), "(1,2)");
}

TEST(Scalar, EqualsNumbersOfItsOwnKindOnly) {
  EXPECT_TRUE(Scalar(2) == Scalar(2));
  EXPECT_FALSE(Scalar(2) == Scalar(2.0));
  // Equal as doubles, different as integers.
  EXPECT_FALSE(Scalar((int64_t{1} << 53) + 1) == Scalar(int64_t{1} << 53));
}

}  // namespace
}  // namespace ebb
