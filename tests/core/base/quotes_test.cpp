// tests/core/base/quotes_test.cpp -- names in quotes; tests/python/tensor/test_repr.py holds them
// against Python's repr().
#include "ebb/core/base/quotes.h"

#include <gtest/gtest.h>

namespace ebb {
namespace {

TEST(Quotes, ChoosesQuotesAsPythonDoes) {
  EXPECT_EQ(in_quotes("w"), "'w'");
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes("it's"), "\"it's\"");
  EXPECT_EQ(in_quotes("'\""), R"('\'"')");
}

TEST(Quotes, EscapesWhatCannotBeSeen) {
  EXPECT_EQ(in_quotes("a\n\t\\\x1b"), R"('a\n\t\\\x1b')");
  EXPECT_EQ(in_quotes("\u00e9 \u200b"), "'\u00e9 \\u200b'");
  EXPECT_EQ(in_quotes(std::string_view("\0", 1)), R"('\x00')");
}

TEST(Quotes, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(in_quotes("\xff\x80"), R"('\xff\x80')");
  EXPECT_EQ(in_quotes("\xc3"), R"('\xc3')");                  // cut off
  EXPECT_EQ(in_quotes("\xc0\xaf"), R"('\xc0\xaf')");          // '/' in two bytes
  EXPECT_EQ(in_quotes("\xed\xa0\x80"), R"('\xed\xa0\x80')");  // half of a pair of UTF-16
  EXPECT_EQ(in_quotes("\xf4\x90\x80\x80"), R"('\xf4\x90\x80\x80')");
}

}  // namespace
}  // namespace ebb
