// tests/io/atomic_file_test.cpp -- saving replaces a file wholly or not at all.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/io/safetensors.h"
#include "tests/core/core_test_support.h"
#include "tests/io/temp_folder.h"

namespace ebb::io {
namespace {

using ebb::testing::read_file;
using ebb::testing::TempFolder;
using ebb::testing::write_file;

NamedTensors bytes(int64_t count) { return {{"t", ebb::empty(Shape{count}, DType::uint8)}}; }

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

TEST(AtomicFile, LeavesNothingButTheFile) {
  const TempFolder folder;
  save_safetensors(folder.file("x"), bytes(3));
  save_safetensors(folder.file("x"), bytes(5));
  EXPECT_EQ(folder.count(), 1);
  EXPECT_EQ(load_safetensors(folder.file("x")).tensors.at(0).second.numel(), 5);
}

TEST(AtomicFile, KeepsTheModeOfTheOldFile) {
  const TempFolder folder;
  write_file(folder.file("x"), "old");
  ASSERT_EQ(::chmod(folder.file("x").c_str(), 0600), 0);
  save_safetensors(folder.file("x"), bytes(3));
  EXPECT_EQ(mode_of(folder.file("x")), 0600u);
}

TEST(AtomicFile, GivesANewFileTheUsualMode) {
  const TempFolder folder;
  const mode_t mask = ::umask(027);
  save_safetensors(folder.file("x"), bytes(3));
  ::umask(mask);
  EXPECT_EQ(mode_of(folder.file("x")), 0640u);
}

TEST(AtomicFile, WritesThroughASymbolicLink) {
  const TempFolder folder;
  write_file(folder.file("real"), "old");
  ASSERT_EQ(::symlink("real", folder.file("link").c_str()), 0);
  save_safetensors(folder.file("link"), bytes(3));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_NE(read_file(folder.file("real")), "old");
}

TEST(AtomicFile, MakesTheFileThatADanglingLinkNames) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("sub"));
  ASSERT_EQ(::symlink("sub/second", folder.file("first").c_str()), 0);
  ASSERT_EQ(::symlink("../real", folder.file("sub/second").c_str()), 0);
  save_safetensors(folder.file("first"), bytes(3));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("first")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("sub/second")));
  EXPECT_EQ(load_safetensors(folder.file("real")).tensors.at(0).second.numel(), 3);
  EXPECT_EQ(folder.count(), 3);
}

TEST(AtomicFile, RefusesALinkThatLeadsToItself) {
  const TempFolder folder;
  ASSERT_EQ(::symlink("b", folder.file("a").c_str()), 0);
  ASSERT_EQ(::symlink("a", folder.file("b").c_str()), 0);
  const auto save = [&] { save_safetensors(folder.file("a"), bytes(1)); };
  EXPECT_NE(error_of<IoError>(save).find("a link that leads to itself"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("a")));
}

TEST(AtomicFile, RemovesWhatAKilledProcessLeft) {
  const TempFolder folder;
  write_file(folder.file(".x.ebb-tmp-999999999-0"), "half");  // no process has this number
  write_file(folder.file(".x.ebb-tmp-" + std::to_string(::getpid()) + "-77"), "another thread's");
  save_safetensors(folder.file("x"), bytes(3));
  EXPECT_EQ(folder.count(), 2);
  EXPECT_FALSE(std::filesystem::exists(folder.file(".x.ebb-tmp-999999999-0")));
}

TEST(AtomicFile, KeepsTheOldFileWhenTheDiskIsFull) {
  const TempFolder folder;
  write_file(folder.file("x"), "old");
  // A limit on the size of files stands for the full disk; its signal must not kill us.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text =
      error_of<IoError>([&] { save_safetensors(folder.file("x"), bytes(5000)); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(text.find("writing failed: File too large"), std::string::npos) << text;
  EXPECT_EQ(read_file(folder.file("x")), "old");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, NamesAFolderThatIsMissing) {
  const auto save = [] { save_safetensors("/no/such/folder/x", bytes(1)); };
  EXPECT_EQ(error_of<IoError>(save),
            "save: needs a writable file, got '/no/such/folder/x': opening failed: No such file or "
            "directory");
}

TEST(AtomicFile, RefusesToReplaceAFolder) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("sub"));
  const auto save = [&] { save_safetensors(folder.file("sub"), bytes(1)); };
  EXPECT_NE(error_of<IoError>(save).find("save: needs the path of a file"), std::string::npos);
}

}  // namespace
}  // namespace ebb::io
