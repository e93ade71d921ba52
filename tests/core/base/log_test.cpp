// tests/core/base/log_test.cpp -- logging: silent by default, levels, the sink.
#include "ebb/core/base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/core/base/flags.h"
#include "ebb/core/base/thread_state.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

std::vector<std::string> lines;

class Log : public ::testing::Test {
 protected:
  Log() {
    lines.clear();
    set_log_sink([](LogPart part, int level, const std::string& text) {
      lines.push_back(str(name_of(part), ' ', level, ' ', text));
    });
  }
  ~Log() override {
    set_log_levels(levels_before_);
    set_log_sink(nullptr);
  }

 private:
  std::string levels_before_ = flag("log");
};

TEST_F(Log, PassesLinesUpToItsLevel) {
  set_log_level(3);
  EBB_LOG_AT(LogPart::general, 3, "shown ", 1);
  EBB_LOG_AT(LogPart::general, 4, "hidden");
  EXPECT_EQ(lines, std::vector<std::string>{"general 3 shown 1"});
}

TEST_F(Log, FormatsNothingBelowItsLevel) {
  set_log_level(0);
  int formatted = 0;
  EBB_LOG_AT(LogPart::general, 1, ++formatted);
  EXPECT_EQ(formatted, 0);
}

TEST_F(Log, EachPartHasALevelOfItsOwn) {
  set_log_levels("op:6,engine:3");
  EBB_LOG_AT(LogPart::op, 6, "call");
  EBB_LOG_AT(LogPart::engine, 4, "hidden");
  EBB_LOG_AT(LogPart::general, 1, "hidden");
  EXPECT_EQ(lines, std::vector<std::string>{"op 6 call"});
  EXPECT_EQ(flag("log"), "op:6,engine:3");
}

TEST_F(Log, OnlyWhatIsLoggedOnEachCallSetsTheBitOfTheThread) {
  for (const char* const text : {"0", "2", "op:5", "engine:2,amp:4", "general:9"}) {
    set_log_levels(text);
    EXPECT_EQ(thread_state.modes & gate::kLog, 0u) << text;
  }
  for (const char* const text : {"3", "op:6", "engine:3", "amp:5"}) {
    set_log_levels(text);
    EXPECT_NE(thread_state.modes & gate::kLog, 0u) << text;
  }
}

TEST_F(Log, IsAStatementThatFitsIntoAnIf) {
  set_log_level(1);
  if (lines.empty())
    EBB_LOG_AT(LogPart::general, 1, "then");
  else
    EBB_LOG_AT(LogPart::general, 1, "else");
  EXPECT_EQ(lines, std::vector<std::string>{"general 1 then"});
}

TEST_F(Log, RefusesLevelsOutOfRange) {
  EXPECT_EQ(error_of<ValueError>([] { set_log_level(10); }),
            "set_log_level: needs a level from 0 to 9, got 10");
  EXPECT_EQ(error_of<ValueError>([] { set_log_level(-1); }),
            "set_log_level: needs a level from 0 to 9, got -1");
}

TEST_F(Log, RefusesLevelsThatNoPartHas) {
  set_log_levels("engine:3");
  for (const char* const text : {"", "x", "12", "op", "op:", "op:x", "ops:3", "op:3;amp:2", "-1"}) {
    EXPECT_EQ(error_of<ValueError>([&] { set_flag("log", text); }),
              str("log: needs a level from 0 to 9, or those of parts, got ", text,
                  "\nhint: such as op:6,engine:3; the parts are general, op, engine, amp"));
  }
  EXPECT_EQ(flag("log"), "engine:3");
}

TEST_F(Log, WritesToStandardErrorByDefault) {
  set_log_sink(nullptr);
  set_log_level(2);
  ::testing::internal::CaptureStderr();
  EBB_LOG_AT(LogPart::general, 2, "a line");
  EBB_LOG_AT(LogPart::amp, 2, "another");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[ebb 2] a line\n[ebb.amp 2] another\n");
}

}  // namespace
}  // namespace ebb
