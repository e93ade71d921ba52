// tests/io/mapped_file_test.cpp -- tensors over a file: their values, their lifetime, their writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include "ebb/autograd/ops/fill_.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/io/read_file.h"
#include "ebb/io/safetensors.h"
#include "tests/io/temp_folder.h"

namespace ebb::io {
namespace {

using ebb::testing::read_file;
using ebb::testing::TempFolder;

Tensor mapped(const std::string& path) {
  return load_safetensors(path, Access::map).tensors.at(0).second;
}

TEST(MappedFile, OutlivesItsNameAndTheOtherTensors) {
  const TempFolder folder;
  const std::string path = folder.file("x.safetensors");
  save_safetensors(path, {{"a", ebb::ones(Shape{1000})}, {"b", ebb::zeros(Shape{3})}});
  const Tensor a = mapped(path);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  for (int64_t i = 0; i < a.numel(); ++i) ASSERT_EQ(a.data<float>()[i], 1.0f);
}

TEST(MappedFile, IsNotChangedByWritesToTensors) {
  const TempFolder folder;
  const std::string path = folder.file("x.safetensors");
  save_safetensors(path, {{"a", ebb::ones(Shape{10})}});
  const std::string before = read_file(path);
  const Tensor first = mapped(path);
  const Tensor second = mapped(path);
  ebb::fill_(first, 3.0);
  EXPECT_EQ(first.data<float>()[9], 3.0f);
  EXPECT_EQ(second.data<float>()[9], 1.0f);
  EXPECT_EQ(read_file(path), before);
}

TEST(MappedFile, GivesNoViewBeyondItsEnd) {
  const TempFolder folder;
  const std::string path = folder.file("x");
  save_safetensors(path, {});
  const ReadFile file("load", path);
  const auto map = MappedFile::make(file);
  EXPECT_EQ(map->view(0, Shape{static_cast<int64_t>(file.bytes())}, DType::uint8).numel(),
            static_cast<int64_t>(file.bytes()));
  EXPECT_THROW(map->view(1, Shape{static_cast<int64_t>(file.bytes())}, DType::uint8), ValueError);
  EXPECT_THROW(map->view(file.bytes() + 1, Shape{0}, DType::uint8), ValueError);
}

}  // namespace
}  // namespace ebb::io
