// tests/devices/launch/kernel_cache_test.cpp -- keys of kernels: equal for what is equal, and
// nothing outside of them is written.
#include "ebb/devices/launch/kernel_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ebb/core/base/error.h"

namespace ebb::devices {
namespace {

SpecKey filled(int bits) {
  SpecKey key(Family::gather, 3);
  for (int left = bits; left > 0; left -= 16) key.put(1, std::min(left, 16));
  return key;
}

TEST(SpecKey, TellsApartWhatDiffersInAnyBit) {
  EXPECT_EQ(filled(112), filled(112));
  for (int bit = 0; bit < 16; ++bit) {
    SpecKey one(Family::gather, 3);
    one.put(uint64_t{1} << bit, 16);
    EXPECT_FALSE(one == SpecKey(Family::gather, 3).put(0, 16)) << bit;
  }
}

TEST(SpecKey, RefusesWhatItHasNoRoomFor) {
  SpecKey full = filled(112);
  EXPECT_THROW(full.put(0, 1), InternalError);
  EXPECT_EQ(full, filled(112));
  SpecKey nearly = filled(96);
  EXPECT_THROW(nearly.put(0, 17), InternalError);
  EXPECT_NO_THROW(nearly.put(0, 16));
}

TEST(SpecKey, RefusesAValueOfMoreBitsThanItWasTold) {
  SpecKey key(Family::gather, 3);
  EXPECT_THROW(key.put(4, 2), InternalError);
  EXPECT_NO_THROW(key.put(3, 2));
  EXPECT_NO_THROW(key.put(~uint64_t{0}, 64));
}

}  // namespace
}  // namespace ebb::devices
