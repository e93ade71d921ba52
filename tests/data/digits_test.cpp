// tests/data/digits_test.cpp -- the digits are read as documented, and other files are refused.
#include "ebb/data/digits.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/io/safetensors.h"

namespace ebb::data {
namespace {

const std::string kPath = EBB_SOURCE_DIR "/data/digits/digits.safetensors";

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

TEST(Digits, HasAsManyOfEachDigitAsTheSource) {
  const DigitsSplit split = load_digits(kPath);
  std::vector<int> counts(10);
  for (const auto* part : {&split.train, &split.test}) {
    for (int64_t i = 0; i < part->labels.numel(); ++i) ++counts[part->labels.data<int64_t>()[i]];
  }
  EXPECT_EQ(counts, (std::vector{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
}

TEST(Digits, SplitsAnyNumberOfImages) {
  const std::string path = testing::TempDir() + "few.safetensors";
  for (const int64_t count : {0, 1, 4, 5, 9, 10}) {
    io::save_safetensors(path, {{"images", zeros(Shape{count, 64}, DType::uint8)},
                                {"labels", zeros(Shape{count}, DType::uint8)}});
    const DigitsSplit split = load_digits(path);
    EXPECT_EQ(split.test.labels.numel(), count / 5) << count;
    EXPECT_EQ(split.train.images.shape(), (Shape{count - count / 5, 64})) << count;
  }
}

TEST(Digits, RefusesOtherFiles) {
  const std::string path = testing::TempDir() + "other.safetensors";
  const Tensor images = zeros(Shape{5, 64}, DType::uint8), labels = zeros(Shape{5}, DType::uint8);
  const auto problem = [&](const io::NamedTensors& tensors) -> std::string {
    io::save_safetensors(path, tensors);
    try {
      load_digits(path);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string start = "load_digits: needs a file of digits, got '" + path + "': ";
  EXPECT_EQ(problem({{"images", images}, {"labels", labels}}), "no error");
  EXPECT_EQ(problem({{"labels", labels}}), start + "it has no 'images'");
  EXPECT_EQ(problem({{"images", labels}, {"labels", labels}}),
            start + "'images' is uint8 [5] instead of uint8 [n, 64]");
  EXPECT_EQ(problem({{"images", images}, {"labels", cast(labels, DType::int64)}}),
            start + "'labels' is int64 [5] instead of uint8 [n]");
  EXPECT_EQ(problem({{"images", add(images, Scalar(17))}, {"labels", labels}}),
            start + "'images' has 17, above 16");
  EXPECT_EQ(problem({{"images", images}, {"labels", add(labels, Scalar(10))}}),
            start + "'labels' has 10, above 9");
  EXPECT_EQ(problem({{"images", images}, {"labels", zeros(Shape{4}, DType::uint8)}}),
            "load_digits: needs a label for each image, got 4 for 5 in '" + path + "'");
}

TEST(Digits, NamesAFileThatIsMissing) {
  try {
    load_digits("/no/such/file");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(),
                 "load: needs a readable file, got '/no/such/file': No such file or directory");
  }
}

}  // namespace
}  // namespace ebb::data
