// tests/io/mapped_file_test.cpp -- a tensor over a file ends where the file does.
//
// Values, lifetimes and writes are tested in tests/python/io/test_mapped.py.
#include <gtest/gtest.h>

#include "ebb/core/base/error.h"
#include "ebb/io/read_file.h"
#include "ebb/io/safetensors.h"
#include "tests/io/temp_folder.h"

namespace ebb::io {
namespace {

using ebb::testing::TempFolder;

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
