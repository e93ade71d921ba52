// tests/core/base/flags_test.cpp -- flags by name, and variables that are none.
#include "ebb/core/base/flags.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ebb/core/base/error.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

std::string refusal(std::string_view name, std::string_view value) {
  return error_of<ValueError>([&] { set_flag(name, value); });
}

TEST(Flags, AreSetByNameAsText) {
  const std::string before = flag("log");
  set_flag("log", "3");
  EXPECT_EQ(flag("log"), "3");
  set_flag("log", before);
  EXPECT_EQ(flag("log"), before);
}

TEST(Flags, RefuseWhatIsNotOfTheirType) {
  EXPECT_EQ(refusal("num_threads", "high"), "set_flag: num_threads needs a whole number, got high");
  EXPECT_EQ(refusal("num_threads", ""), "set_flag: num_threads needs a whole number, got ");
  EXPECT_EQ(refusal("num_threads", "99999999999999999999"),
            "set_flag: num_threads needs a whole number, got 99999999999999999999");
  EXPECT_EQ(refusal("lok", "1"),
            "set_flag: needs the name of a flag, got lok\n"
            "hint: perhaps log; ebb.flags.table() has all");
  EXPECT_EQ(refusal("jobs", "1"),
            "set_flag: jobs holds from the start, got 1\n"
            "hint: set EBB_JOBS before the program starts");
}

TEST(Flags, OfTheEnvironmentAreReadByName) {
  ::setenv("EBB_SOME_SWITCH", "off", 1);
  EXPECT_EQ(flag_in_environment("some_switch"), "off");
  EXPECT_FALSE(flag_in_environment("some_switch", true));
  const std::vector<std::string> unknown = faults_of_environment();
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].substr(0, 44), "EBB_SOME_SWITCH is no variable that ebb read");
  ::unsetenv("EBB_SOME_SWITCH");
  EXPECT_TRUE(flag_in_environment("some_switch", true));
  EXPECT_EQ(flag_in_environment("some_switch"), "");
}

}  // namespace
}  // namespace ebb
