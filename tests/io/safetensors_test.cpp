// tests/io/safetensors_test.cpp -- what is saved is what is loaded, and the bytes are the format's.
#include "ebb/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"
#include "tests/core/core_test_support.h"
#include "tests/io/temp_folder.h"
#include "tests/ops/op_test_support.h"

namespace ebb::io {
namespace {

using ebb::testing::read_file;
using ebb::testing::TempFolder;

uint64_t header_length(const std::string& content) {
  uint64_t length = 0;
  std::memcpy(&length, content.data(), sizeof length);
  return length;
}

TEST(Safetensors, LoadsWhatWasSaved) {
  const TempFolder folder;
  const std::string path = folder.file("x.safetensors");
  save_safetensors(
      path,
      {{"b", tensor_of<float>({1, 2, 3, 4}, Shape{2, 2})}, {"a", tensor_of<float>({5}, Shape{})}},
      {{"made by", "a test"}});
  const SafetensorsFile file = load_safetensors(path);
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].first, "b");  // the caller's order
  EXPECT_EQ(file.tensors[0].second.shape(), (Shape{2, 2}));
  EXPECT_EQ(file.tensors[0].second.data<float>()[3], 4.0f);
  EXPECT_EQ(file.tensors[1].second.ndim(), 0);
  EXPECT_EQ(file.tensors[1].second.item<float>(), 5.0f);
  EXPECT_EQ(file.metadata.at("made by"), "a test");
}

TEST(Safetensors, WritesTheDocumentedBytes) {
  const TempFolder folder;
  save_safetensors(folder.file("x"), {{"w", tensor_of<float>({1.0f}, Shape{1})}});
  const std::string content = read_file(folder.file("x"));
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_EQ(header_length(content) % 8, 0u);
  EXPECT_EQ(content.substr(8, header.size()), header);
  EXPECT_EQ(content.size(), 8 + header_length(content) + 4);
  EXPECT_EQ(content.substr(content.size() - 4), std::string("\x00\x00\x80\x3f", 4));
}

class EveryDType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryDType, IsKeptBitForBit) {
  const TempFolder folder;
  const Tensor tensor = ebb::empty(Shape{5}, GetParam());
  auto* const bytes = static_cast<unsigned char*>(tensor.data_ptr());
  for (size_t i = 0; i < tensor.nbytes(); ++i) bytes[i] = i % 2;
  save_safetensors(folder.file("x"), {{"t", tensor}});
  const Tensor loaded = load_safetensors(folder.file("x")).tensors.at(0).second;
  EXPECT_EQ(loaded.dtype(), GetParam());
  EXPECT_EQ(std::memcmp(loaded.data_ptr(), tensor.data_ptr(), tensor.nbytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(Safetensors, EveryDType,
                         ::testing::Values(DType::boolean, DType::uint8, DType::uint16,
                                           DType::uint32, DType::uint64, DType::int8, DType::int16,
                                           DType::int32, DType::int64, DType::float16,
                                           DType::bfloat16, DType::float32, DType::float64,
                                           DType::complex64));

TEST(Safetensors, KeepsTensorsWithoutElements) {
  const TempFolder folder;
  save_safetensors(folder.file("x"), {{"none", ebb::empty(Shape{0, 3}, DType::float32)},
                                      {"one", tensor_of<float>({7}, Shape{1})}});
  const SafetensorsFile file = load_safetensors(folder.file("x"));
  EXPECT_EQ(file.tensors.at(0).second.shape(), (Shape{0, 3}));
  EXPECT_EQ(file.tensors.at(1).second.item<float>(), 7.0f);
}

TEST(Safetensors, SavesParametersWithoutTheirHistory) {
  const TempFolder folder;
  const Tensor leaf = requires_grad_(tensor_of<float>({2}, Shape{1}));
  save_safetensors(folder.file("x"), {{"p", leaf}});
  EXPECT_FALSE(load_safetensors(folder.file("x")).tensors.at(0).second.requires_grad());
}

TEST(Safetensors, RefusesANameThatOccursTwice) {
  const TempFolder folder;
  const Tensor one = tensor_of<float>({1}, Shape{});
  const auto save = [&] { save_safetensors(folder.file("x"), {{"a", one}, {"a", one}}); };
  EXPECT_EQ(error_of<ValueError>(save), "save: needs each name once, got 'a' twice");
  EXPECT_EQ(folder.count(), 0);
}

TEST(Safetensors, RefusesTheReservedName) {
  const TempFolder folder;
  const auto save = [&] {
    save_safetensors(folder.file("x"), {{"__metadata__", tensor_of<float>({1}, Shape{})}});
  };
  EXPECT_EQ(error_of<ValueError>(save),
            "save: needs a name other than the reserved '__metadata__'");
}

TEST(Safetensors, RefusesUndefinedTensors) {
  const auto save = [] { save_safetensors("unused", {{"a", Tensor()}}); };
  EXPECT_EQ(error_of<ValueError>(save), "save: needs tensors, got nothing for 'a'");
}

TEST(Safetensors, RefusesNamesThatAreNotText) {
  const TempFolder folder;
  const Tensor one = tensor_of<float>({1}, Shape{});
  const auto save = [&] { save_safetensors(folder.file("x"), {{"\xff", one}}); };
  EXPECT_EQ(error_of<ValueError>(save), "save: needs names and metadata in UTF-8");
  const auto save_nul = [&] {
    save_safetensors(folder.file("x"), {{std::string("a\0b", 3), one}});
  };
  EXPECT_EQ(error_of<ValueError>(save_nul), "save: needs names without NUL bytes, got 'a\\x00b'");
}

}  // namespace
}  // namespace ebb::io
