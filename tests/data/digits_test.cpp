// tests/data/digits_test.cpp -- the digits are read as documented, and corrupt files are refused.
#include "ebb/data/digits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "ebb/core/error.h"

namespace ebb::data {
namespace {

using Bytes = std::vector<unsigned char>;

const std::string kPath = EBB_SOURCE_DIR "/data/digits/digits.bin";

Bytes content() {
  std::ifstream file(kPath, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// CRC-32, bit by bit: slow and plainly the definition.
uint32_t crc32(const Bytes& bytes, size_t count) {
  uint32_t value = ~0u;
  for (size_t i = 0; i < count; ++i) {
    value ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
  }
  return ~value;
}
void mend_checksum(Bytes& bytes) {
  const size_t end = bytes.size() - 4;
  const uint32_t value = crc32(bytes, end);
  for (int byte = 0; byte < 4; ++byte) {
    bytes[end + static_cast<size_t>(byte)] = static_cast<unsigned char>(value >> (8 * byte));
  }
}

std::string problem_of(const Bytes& bytes) {
  try {
    parse_digits(bytes, "f");
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}
std::string problem_after(const std::function<void(Bytes&)>& damage, bool mends = true) {
  Bytes bytes = content();
  damage(bytes);
  if (mends) mend_checksum(bytes);
  return problem_of(bytes);
}

TEST(Digits, HoldsOutEveryFifthImage) {
  const DigitsSplit split = load_digits(kPath);
  EXPECT_EQ(split.train.images.shape(), (Shape{1438, 64}));
  EXPECT_EQ(split.train.labels.shape(), (Shape{1438}));
  EXPECT_EQ(split.test.images.shape(), (Shape{359, 64}));
  EXPECT_EQ(split.test.labels.shape(), (Shape{359}));
  // The source begins 0 1 2 3 4 5 6 7 8 9 0 ...: number 4 is the first image held out.
  EXPECT_EQ(split.test.labels.data<int64_t>()[0], 4);
  EXPECT_EQ(split.test.labels.data<int64_t>()[1], 9);
  EXPECT_EQ(split.train.labels.data<int64_t>()[4], 5);
}

TEST(Digits, ScalesPixelsToOne) {
  const DigitsSplit split = load_digits(kPath);
  const float* const zero = split.train.images.data<float>();
  // The first row of the first image is 0 0 5 13 9 1 0 0 in the source.
  const float expected[] = {0, 0, 5, 13, 9, 1, 0, 0};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(zero[i], expected[i] / 16) << i;
}

TEST(Digits, HasAboutAsManyOfEachDigit) {
  const DigitsSplit split = load_digits(kPath);
  int counts[10] = {};
  for (const auto* part : {&split.train, &split.test}) {
    for (int64_t i = 0; i < part->labels.numel(); ++i) ++counts[part->labels.data<int64_t>()[i]];
  }
  for (const int count : counts) EXPECT_TRUE(count >= 174 && count <= 183) << count;
}

TEST(Digits, RefusesDamage) {
  const std::string start = "load_digits: needs a digits file, got 'f': ";
  EXPECT_EQ(problem_of({}), start + "it has only 0 bytes");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes[0] = 'X'; }), start + "it has another magic");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes[8] = 2; }),
            start + "format version 2 is unknown");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes[16] = 9; }),
            start + "images are 9x8 instead of 8x8");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes[15] = 255; }),
            start + "4278191877 images are too many");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes.pop_back(); }),
            start + "1797 images take 73705 bytes, it has 73704");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes[5000] ^= 1; }, false),
            start + "its checksum is wrong");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes[24] = 10; }), start + "image 0 has label 10");
  EXPECT_EQ(problem_after([](Bytes& bytes) { bytes[24 + 1797] = 31; }),
            start + "image 0 has a pixel above 16");
}

TEST(Digits, NamesAFileThatIsMissing) {
  try {
    load_digits("/no/such/file");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(),
                 "load_digits: needs a readable file, got '/no/such/file'\n"
                 "hint: the digits lie in data/digits/digits.bin of the repository");
  }
}

}  // namespace
}  // namespace ebb::data
