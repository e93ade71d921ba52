// ebb/io/read_file.h -- files opened for reading, and files mapped into memory (private to ebb/io
// and the Python package).
//
// A mapping is private: writing to it copies the page, the file never changes. It outlives the
// file's name and its descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ebb/core/base/dtype.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::io {

/// A regular file open for reading.
class EBB_API ReadFile {
 public:
  /// Throws IoError, naming `op`, unless it is a regular file that may be read.
  ReadFile(const char* op, const std::string& path);
  ~ReadFile();
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  const char* op() const { return op_; }
  const std::string& path() const { return path_; }
  int descriptor() const { return fd_; }
  uint64_t bytes() const { return bytes_; }  // when it was opened

  /// Fills `where` and returns how many bytes there were: fewer than `count` only at the end.
  uint64_t read(uint64_t offset, void* where, uint64_t count) const;

 private:
  [[noreturn]] void fail() const;

  const char* op_;
  std::string path_;
  int fd_;
  uint64_t bytes_ = 0;
};

/// A whole file in the address space, until the last view of it is gone.
class EBB_API MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  static std::shared_ptr<MappedFile> make(const ReadFile& file);
  /// The first `bytes` of an open descriptor, which may be closed afterwards; all pages are there
  /// at once. Throws IoError, naming `op`.
  static std::shared_ptr<MappedFile> make(const char* op, int descriptor, uint64_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// A tensor over the bytes from `offset` on, which keeps the mapping. Throws ValueError unless
  /// they lie within the mapping.
  Tensor view(uint64_t offset, IntSpan sizes, DType dtype);

 private:
  MappedFile(const char* op, const std::string& name, int descriptor, uint64_t bytes, int flags);

  char* data_ = nullptr;
  uint64_t bytes_;
};

}  // namespace ebb::io
