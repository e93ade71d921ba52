// tests/core/base/half_test.cpp -- float16 and bfloat16, every one of the 65,536 patterns of each.
//
// The expected values come from the definition (sign, exponent, fraction) in double, and rounding
// is tried at and beside the middle of every two neighbours.
#include "ebb/core/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ebb {
namespace {

template <typename T>
T from_bits(uint32_t bits) {
  T value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

template <typename T>
float to_float(uint32_t bits) {
  return static_cast<float>(from_bits<T>(bits));
}

/// The value of a pattern by definition: `exponent_bits` after the sign, the rest is fraction.
double by_definition(uint32_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  const double leading = exponent == 0 ? 0.0 : 1.0;
  const double significand = leading + std::ldexp(fraction, -fraction_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias);
}

template <typename T>
void expect_every_pattern_by_definition(int exponent_bits) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const double expected = by_definition(bits, exponent_bits);
    const float value = to_float<T>(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(value)))) << bits;
      continue;
    }
    ASSERT_EQ(value, expected) << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    ASSERT_EQ(T(value).bits, bits);
  }
}

TEST(Half, HoldsWhatItsDefinitionSaysForEveryPattern) {
  expect_every_pattern_by_definition<Half>(5);
}

TEST(BFloat16, HoldsWhatItsDefinitionSaysForEveryPattern) {
  expect_every_pattern_by_definition<BFloat16>(8);
}

/// Tries the middle of `bits` and its upper neighbour, and the floats next to it.
template <typename T>
void expect_rounding_above(uint32_t bits) {
  const float lower = to_float<T>(bits);
  const float upper = to_float<T>(bits + 1);
  const auto middle = static_cast<float>((double{lower} + double{upper}) / 2);
  const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
  ASSERT_EQ(T(middle).bits, even) << bits;
  ASSERT_EQ(T(std::nextafter(middle, lower)).bits, bits);
  ASSERT_EQ(T(std::nextafter(middle, upper)).bits, bits + 1);
  ASSERT_EQ(T(-middle).bits, even | 0x8000u) << bits;
}

TEST(Half, RoundsToNearestWithTiesToEvenBetweenAllNeighbours) {
  for (uint32_t bits = 0; bits < 0x7bffu; ++bits) expect_rounding_above<Half>(bits);
}

TEST(BFloat16, RoundsToNearestWithTiesToEvenBetweenAllNeighbours) {
  for (uint32_t bits = 0; bits < 0x7f7fu; ++bits) expect_rounding_above<BFloat16>(bits);
}

TEST(Half, OverflowsToInfinityFromTheMiddleOn) {
  EXPECT_EQ(Half(65519.996f).bits, 0x7bffu);  // 65504 is the largest finite value
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00u);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00u);
  EXPECT_EQ(Half(std::numeric_limits<float>::infinity()).bits, 0x7c00u);
}

TEST(Half, UnderflowsToSignedZeroBelowHalfOfItsSmallestValue) {
  EXPECT_EQ(Half(0x1p-25f).bits, 0u);  // a tie: zero is even
  EXPECT_EQ(Half(std::nextafter(0x1p-25f, 1.0f)).bits, 1u);
  EXPECT_EQ(Half(-0x1p-30f).bits, 0x8000u);
}

TEST(BFloat16, KeepsNanEvenIfItsPayloadWouldRoundAway) {
  const auto low_payload = std::bit_cast<float>(0x7f800001u);
  const auto full_payload = std::bit_cast<float>(0xffffffffu);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(low_payload))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(full_payload))));
}

TEST(BFloat16, OverflowsToInfinityFromTheMiddleOn) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80u);
  EXPECT_EQ(BFloat16(to_float<BFloat16>(0x7f7fu)).bits, 0x7f7fu);
}

}  // namespace
}  // namespace ebb
