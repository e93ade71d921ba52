// tests/core/base/log_test.cpp -- logging: silent by default, levels, the sink.
#include "ebb/core/base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

std::vector<std::string> lines;

class Log : public ::testing::Test {
 protected:
  Log() {
    lines.clear();
    set_log_sink(
        [](int level, const std::string& text) { lines.push_back(str(level, ' ', text)); });
  }
  ~Log() override {
    set_log_level(level_before_);
    set_log_sink(nullptr);
  }

 private:
  int level_before_ = log_level();
};

TEST_F(Log, PassesLinesUpToItsLevel) {
  set_log_level(3);
  EBB_LOG_AT(3, "shown ", 1);
  EBB_LOG_AT(4, "hidden");
  EXPECT_EQ(lines, std::vector<std::string>{"3 shown 1"});
}

TEST_F(Log, FormatsNothingBelowItsLevel) {
  set_log_level(0);
  int formatted = 0;
  EBB_LOG_AT(1, ++formatted);
  EXPECT_EQ(formatted, 0);
}

TEST_F(Log, IsAStatementThatFitsIntoAnIf) {
  set_log_level(1);
  if (lines.empty())
    EBB_LOG_AT(1, "then");
  else
    EBB_LOG_AT(1, "else");
  EXPECT_EQ(lines, std::vector<std::string>{"1 then"});
}

TEST_F(Log, RefusesLevelsOutOfRange) {
  EXPECT_EQ(error_of<ValueError>([] { set_log_level(10); }),
            "set_log_level: needs a level from 0 to 9, got 10");
  EXPECT_EQ(error_of<ValueError>([] { set_log_level(-1); }),
            "set_log_level: needs a level from 0 to 9, got -1");
}

TEST_F(Log, WritesToStandardErrorByDefault) {
  set_log_sink(nullptr);
  set_log_level(2);
  ::testing::internal::CaptureStderr();
  EBB_LOG_AT(2, "a line");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[ebb 2] a line\n");
}

}  // namespace
}  // namespace ebb
