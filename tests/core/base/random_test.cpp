// tests/core/base/random_test.cpp -- Philox against its published vectors, and the generator's
// state.
#include "ebb/core/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace ebb {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that come with the Random123 library (philox4x32, 10 rounds).
TEST(Philox, GivesTheKnownAnswerForZeros) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
}

TEST(Philox, GivesTheKnownAnswerForOnes) {
  constexpr uint32_t ones = 0xffffffffu;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
}

TEST(Philox, GivesTheKnownAnswerForTheDigitsOfPi) {
  EXPECT_EQ(
      philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
      (Words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(RandomWords, UseSeedAsKeyAndPositionAsCounter) {
  const RandomState state{.seed = 0x1111111122222222u, .offset = 0xffffffffu};
  EXPECT_EQ(random_words(state, 1), philox({0, 1, 0, 0}, {0x22222222u, 0x11111111u}));
}

TEST(RandomWords, DependOnTheSumOfOffsetAndIndexOnly) {
  EXPECT_EQ(random_words({.seed = 5, .offset = 100}, 7),
            random_words({.seed = 5, .offset = 0}, 107));
}

TEST(Generator, HandsOutAdjacentParts) {
  Generator generator(7);
  EXPECT_EQ(generator.reserve(10).offset, 0u);
  EXPECT_EQ(generator.reserve(5).offset, 10u);
  EXPECT_EQ(generator.state().offset, 15u);
  EXPECT_EQ(generator.state().seed, 7u);
}

TEST(Generator, StartsAgainWithANewSeed) {
  Generator generator(7);
  generator.reserve(10);
  generator.set_seed(8);
  EXPECT_EQ(generator.state().seed, 8u);
  EXPECT_EQ(generator.state().offset, 0u);
}

TEST(Generator, ResumesFromASavedState) {
  Generator generator(7);
  generator.reserve(3);
  const RandomState saved = generator.state();
  const RandomState part = generator.reserve(4);
  generator.set_state(saved);
  EXPECT_EQ(generator.reserve(4).offset, part.offset);
}

TEST(Generator, GivesThreadsDisjointParts) {
  Generator generator(1);
  std::vector<std::vector<uint64_t>> found(4);
  std::vector<std::thread> threads;
  for (auto& offsets : found) {
    threads.emplace_back([&generator, &offsets] {
      for (int part = 0; part < 1000; ++part) offsets.push_back(generator.reserve(3).offset);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (const auto& offsets : found) all.insert(all.end(), offsets.begin(), offsets.end());
  std::sort(all.begin(), all.end());
  for (size_t part = 0; part < all.size(); ++part) ASSERT_EQ(all[part], 3 * part);
}

TEST(Generator, IsSharedByDefaultAndStartsWithSeedZero) {
  EXPECT_EQ(&default_generator(), &default_generator());
  EXPECT_EQ(default_generator().state().seed, 0u);
}

}  // namespace
}  // namespace ebb
