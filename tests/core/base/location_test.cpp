// tests/core/base/location_test.cpp -- locations: ids, scopes, front ends, and C++ symbols.
//
// This file is compiled with debug information, so that its own lines can be found.
#include "ebb/core/base/location.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {
namespace {

[[gnu::noinline]] LocationId here() { return current_location(__builtin_return_address(0)); }

/// One call in the program, however often it runs: not unrolled, and no tail call.
[[gnu::noinline]] LocationId one_call() {
  const LocationId id = here();
  asm volatile("" ::: "memory");
  return id;
}

TEST(Location, IsTheSameIdForTheSameCall) {
  const LocationId first = one_call();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(one_call(), first);
}

TEST(Location, DiffersBetweenCalls) {
  const LocationId first = here();
  const LocationId second = here();
  EXPECT_NE(first, second);
}

TEST(Location, IsTheSameIdOnEveryThread) {
  std::vector<LocationId> ids(4);
  std::vector<std::thread> threads;
  for (LocationId& id : ids) {
    threads.emplace_back([&id] { id = intern_location(0x1234, 0x5678, false); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const LocationId id : ids) EXPECT_EQ(id, intern_location(0x1234, 0x5678, false));
}

TEST(Location, NamesTheFileAndLineOfACppCall) {
  const int line = __LINE__ + 1;
  const LocationId id = here();
  const SourceLocation place = describe_location(id);
  EXPECT_NE(place.file.find("location_test.cpp"), std::string::npos) << place.file;
  EXPECT_EQ(place.line, line);
  EXPECT_NE(place.function.find("NamesTheFileAndLineOfACppCall"), std::string::npos);
}

constexpr int kWrongLine = __LINE__ + 2;
[[gnu::noinline]] void allocate_wrongly(IntSpan sizes) {
  const Tensor never = empty(sizes, DType::float32);
  EXPECT_FALSE(never.defined());
}

TEST(Location, OfAnErrorIsTheLineThatCalledEbb) {
  const std::vector<int64_t> sizes{2, -3};
  std::string where;
  try {
    allocate_wrongly(sizes);
  } catch (const Error& error) {
    const Error copy = error;
    where = copy.where();
  }
  const std::string line = "location_test.cpp:" + std::to_string(kWrongLine);
  EXPECT_NE(where.find(line + " in "), std::string::npos) << where;
  EXPECT_NE(where.find("allocate_wrongly"), std::string::npos) << where;
}

TEST(Location, OfAnErrorMadeByTheProgramIsItsOwnLine) {
  const int line = __LINE__ + 1;
  const ValueError error("wrong");
  EXPECT_NE(error.where().find("location_test.cpp:" + std::to_string(line)), std::string::npos)
      << error.where();
  EXPECT_STREQ(error.what(), "wrong");
}

TEST(Location, IsUnknownForZeroAndForIdsNeverGiven) {
  EXPECT_EQ(to_string(describe_location(0)), "an unknown place");
  EXPECT_EQ(to_string(describe_location(~LocationId{0})), "an unknown place");
}

TEST(Location, IsUnknownForAnAddressOutsideAnyProgram) {
  EXPECT_EQ(to_string(describe_location(intern_location(16, 0, false))), "an unknown place");
}

TEST(Location, IsPrintedAsFileLineAndFunction) {
  EXPECT_EQ(to_string({.file = "train.py", .line = 12, .function = "step"}), "train.py:12 in step");
  EXPECT_EQ(to_string({.file = "libx.so", .line = 0, .function = ""}), "libx.so");
}

TEST(LocationScope, OverridesUntilItEnds) {
  const LocationId fixed = intern_location(1, 2, false);
  const LocationId other = intern_location(3, 4, false);
  {
    const LocationScope scope(fixed);
    EXPECT_EQ(here(), fixed);
    {
      const LocationScope inner(other);
      EXPECT_EQ(here(), other);
    }
    EXPECT_EQ(here(), fixed);
  }
  EXPECT_NE(here(), fixed);
}

TEST(LocationScope, HoldsOnItsOwnThreadOnly) {
  const LocationId fixed = intern_location(1, 2, false);
  const LocationScope scope(fixed);
  LocationId elsewhere = fixed;
  std::thread([&] { elsewhere = here(); }).join();
  EXPECT_NE(elsewhere, fixed);
}

LocationId provided = 0;

class Provider : public ::testing::Test {
 protected:
  Provider() {
    set_location_provider(
        {.current = []() noexcept { return provided; },
         .describe =
             [](uintptr_t first, uintptr_t second) {
               return SourceLocation{"script.py", static_cast<int>(first + second), ""};
             }});
  }
  ~Provider() override { set_location_provider({}); }
};

TEST_F(Provider, IsAskedFirst) {
  provided = intern_location(4000, 200, true);
  EXPECT_EQ(here(), provided);
  EXPECT_EQ(to_string(describe_location(provided)), "script.py:4200");
}

TEST_F(Provider, MayHaveNoPartInACall) {
  provided = 0;
  const LocationId id = here();
  EXPECT_NE(id, 0u);
  EXPECT_NE(describe_location(id).file.find("location_test"), std::string::npos);
}

TEST(Location, IsStillKnownToDestructorsAtTheEndOfAThread) {
  static LocationId found = 0;
  struct AtThreadEnd {
    ~AtThreadEnd() { found = here(); }
  };
  std::thread([] {
    thread_local AtThreadEnd at_end;  // made before the thread's cache of addresses, so gone after
    static_cast<void>(&at_end);
    here();
  }).join();
  EXPECT_NE(found, 0u);
}

}  // namespace
}  // namespace ebb
