// tests/io/corrupt_file_test.cpp -- files that break a rule of the format end in an error that says
// which, whatever they are: one row per rule, then every truncation and random damage.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ebb/core/base/error.h"
#include "ebb/io/safetensors.h"
#include "tests/core/core_test_support.h"
#include "tests/io/temp_folder.h"

namespace ebb::io {
namespace {

std::string length_bytes(uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}
std::string with_header(const std::string& header, size_t data_bytes) {
  return length_bytes(header.size()) + header + std::string(data_bytes, '\1');
}

SafetensorsFile parse(const std::string& content) {
  return parse_safetensors(std::as_bytes(std::span(content)), "f");
}

std::string problem_of(const std::string& content) {
  const std::string text = error_of<ValueError>([&] { parse(content); });
  const std::string start = "load: needs a safetensors file, got 'f': ";
  return text.compare(0, start.size(), start) == 0 ? text.substr(start.size()) : "?? " + text;
}

/// A tensor of 4 bytes with one field replaced.
std::string entry(const std::string& dtype = R"("F32")", const std::string& shape = "[1]",
                  const std::string& offsets = "[0,4]") {
  return R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

struct BadHeader {
  const char* name;
  std::string header;
  const char* problem;
  size_t data_bytes = 4;
};
std::ostream& operator<<(std::ostream& out, const BadHeader& row) { return out << row.name; }

class Corrupt : public ::testing::TestWithParam<BadHeader> {};

TEST_P(Corrupt, HeaderIsRefusedWithItsProblem) {
  EXPECT_EQ(problem_of(with_header(GetParam().header, GetParam().data_bytes)), GetParam().problem);
}

const std::string kTwo = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)";

const BadHeader kRows[] = {
    {"Empty", "", "its header has no leading '{'"},
    {"LeadingSpace", " " + entry(), "its header has no leading '{'"},
    {"ByteOrderMark", "\xef\xbb\xbf" + entry(), "its header has no leading '{'"},
    {"List", "[1]", "its header has no leading '{'"},
    {"Nul", entry() + std::string(1, '\0') + "{}", "its header holds a NUL byte"},
    {"CutShort", R"({"t":)", "it is not valid JSON in UTF-8, see byte 6"},
    {"InvalidUtf8", "{\"\xff\":1}", "it is not valid JSON in UTF-8, see byte 3"},
    {"Trailing", entry() + "x", "it is not valid JSON in UTF-8, see byte 55"},
    {"TwoDocuments", "{}{}", "it is not valid JSON in UTF-8, see byte 3"},
    {"NulName", R"({"a\u0000b":{}})", "a name holds a NUL byte"},
    {"DuplicateTensor", kTwo + R"("a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
     "key 'a' occurs twice"},
    {"DuplicateField", R"({"t":{"dtype":"F32","dtype":"F32"}})",
     "tensor 't': key 'dtype' occurs twice"},
    {"DuplicateMetadata", R"({"__metadata__":{"a":"1","a":"2"}})", "key 'a' occurs twice"},
    {"MetadataNumber", R"({"__metadata__":{"a":1}})",
     "__metadata__ needs strings, got a number for 'a'"},
    {"MetadataNested", R"({"__metadata__":{"a":{}}})",
     "__metadata__ needs strings, got an object for 'a'"},
    {"MetadataList", R"({"__metadata__":[]})",
     "no rule of the format allows a list for '__metadata__'"},
    {"TensorIsNumber", R"({"t":1})", "no rule of the format allows a number for 't'"},
    {"TensorIsNull", R"({"t":null})", "no rule of the format allows null for 't'"},
    {"TensorIsString", R"({"t":"x"})", "no rule of the format allows a string for 't'"},
    {"UnknownField", R"({"t":{"strides":[1]}})", "tensor 't': unknown key 'strides'"},
    {"MissingField", R"({"t":{"dtype":"F32","shape":[1]}})",
     "tensor 't': it needs dtype, shape and data_offsets"},
    {"DtypeNumber", entry("32"), "tensor 't': no rule of the format allows a number for 'dtype'"},
    {"ShapeObject", entry(R"("F32")", "{}"),
     "tensor 't': no rule of the format allows an object for 'shape'"},
    {"ShapeNested", entry(R"("F32")", "[[1]]"),
     "tensor 't': no rule of the format allows a list for 'shape'"},
    {"ShapeNegative", entry(R"("F32")", "[-1]"),
     "tensor 't': no rule of the format allows a negative number for 'shape'"},
    {"ShapeFloat", entry(R"("F32")", "[1.0]"),
     "tensor 't': no rule of the format allows the number 1.0 for 'shape'"},
    {"ShapeHuge", entry(R"("F32")", "[99999999999999999999]"),
     "tensor 't': no rule of the format allows the number 99999999999999999999 for 'shape'"},
    {"ShapeAboveInt64", entry(R"("F32")", "[9223372036854775808]"),
     "tensor 't': size 9223372036854775808 is too large"},
    {"ShapeString", entry(R"("F32")", R"(["1"])"),
     "tensor 't': no rule of the format allows a string for 'shape'"},
    {"ShapeBoolean", entry(R"("F32")", "[true]"),
     "tensor 't': no rule of the format allows a boolean for 'shape'"},
    {"ShapeOverflow", entry(R"("F32")", "[4611686018427387904,4]"),
     "tensor 't': shape [4611686018427387904, 4] overflows"},
    {"OneOffset", entry(R"("F32")", "[1]", "[0]"), "tensor 't': data_offsets needs two numbers"},
    {"ThreeOffsets", entry(R"("F32")", "[1]", "[0,4,4]"),
     "tensor 't': data_offsets has more than two numbers"},
    {"OffsetsBackwards", entry(R"("F32")", "[1]", "[4,0]"),
     "tensor 't': bytes 4 to 0 are not among the 4 bytes of data"},
    {"OffsetsBeyond", entry(R"("F32")", "[2]", "[0,8]"),
     "tensor 't': bytes 0 to 8 are not among the 4 bytes of data"},
    {"OffsetsAtTheLimit", entry(R"("F32")", "[1]", "[18446744073709551612,18446744073709551615]"),
     "tensor 't': bytes 18446744073709551612 to 18446744073709551615 are not among the 4 bytes of "
     "data"},
    {"SpanTooShort", entry(R"("F32")", "[2]"),
     "tensor 't': shape [2] of float32 takes 8 bytes, but its offsets span 4"},
    {"Gap", entry(R"("U8")", "[3]", "[1,4]"),
     "tensor 't': starts at byte 1, but the one before it ends at 0"},
    {"Overlap", kTwo + R"("b":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
     "tensor 'b': starts at byte 1, but the one before it ends at 2"},
    {"DataNotCovered", entry(), "its tensors cover 4 of 8 bytes of data", 8},
    {"TailWithoutTensors", "{}", "its tensors cover 0 of 4 bytes of data"},
    {"Deep", "{\"t\":" + std::string(100000, '[') + std::string(100000, ']') + "}",
     "no rule of the format allows a list for 't'"},
};
INSTANTIATE_TEST_SUITE_P(Safetensors, Corrupt, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CorruptFile, ShorterThanTheFirstField) {
  EXPECT_EQ(problem_of("1234567"), "it has 7 bytes, fewer than the first field");
}

TEST(CorruptFile, HeaderLongerThanTheFile) {
  EXPECT_EQ(problem_of(length_bytes(3) + "{}"), "a header of 3 bytes does not fit into 10");
}

TEST(CorruptFile, HeaderLengthIsRefusedBeforeMemoryIsTaken) {
  EXPECT_EQ(problem_of(length_bytes(~uint64_t{0}) + "{}"),
            "a header of 18446744073709551615 bytes is above the limit of 100000000");
}

TEST(CorruptFile, UnknownDTypeIsADTypeError) {
  const auto load = [] { parse(with_header(entry(R"("F8_E5M2")"), 4)); };
  EXPECT_EQ(error_of<DTypeError>(load),
            "load: needs a dtype that ebb has, got 'F8_E5M2' for tensor 't' of 'f'");
}

TEST(CorruptFile, MoreDimsThanATensorMayHave) {
  std::string shape = "[1";
  for (int dim = 1; dim < 33; ++dim) shape += ",1";
  EXPECT_EQ(problem_of(with_header(entry(R"("F32")", shape + "]"), 4)),
            "tensor 't': shape has more than 32 sizes");
}

TEST(CorruptFile, BoolsOtherThanZeroAndOneCountAsTrue) {
  std::string content = with_header(entry(R"("BOOL")", "[4]"), 4);
  content.back() = '\x7f';
  const Tensor bools = parse(content).tensors.at(0).second;
  EXPECT_EQ(static_cast<const unsigned char*>(bools.data_ptr())[3], 1);
}

TEST(CorruptFile, EveryTruncationIsRefused) {
  const std::string whole = with_header(entry(), 4);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(parse(whole.substr(0, length)), Error) << length;
  }
  EXPECT_EQ(parse(whole).tensors.size(), 1u);
}

TEST(CorruptFile, RandomDamageEndsInATensorOrAnError) {
  const std::string whole =
      with_header(kTwo + R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", 4);
  std::mt19937 random(1);
  int refused = 0;
  for (int run = 0; run < 20000; ++run) {
    std::string damaged = whole;
    for (int change = 0; change < 3; ++change) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    try {
      parse(damaged);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 15000);
}

}  // namespace
}  // namespace ebb::io
