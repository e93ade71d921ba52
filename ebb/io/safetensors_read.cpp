// ebb/io/safetensors_read.cpp -- loads safetensors files: checks the header, then reads each
// tensor.
//
// Bytes come through a Source (a file or a buffer), which refuses to give more than there are; so a
// file that shrinks while it is read ends in an error. Files are read, not mapped: a mapped file
// cut short by someone else would kill the process.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "ebb/core/error.h"
#include "ebb/core/parallel.h"
#include "ebb/io/safetensors.h"
#include "ebb/io/safetensors_header.h"

namespace ebb::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format stores little-endian");

/// A file open for reading.
class ReadFile {
 public:
  explicit ReadFile(const std::string& path) : path_(path), fd_(::open(path.c_str(), kFlags)) {
    if (fd_ < 0) fail();
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail_and_close();
    if (!S_ISREG(status.st_mode)) {
      ::close(fd_);
      throw IoError("load: needs a regular file, got '" + path + "'");
    }
    bytes_ = static_cast<uint64_t>(status.st_size);
  }
  ~ReadFile() { ::close(fd_); }
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  uint64_t bytes() const { return bytes_; }

  void read(uint64_t offset, void* where, uint64_t count) const {
    auto* next = static_cast<char*>(where);
    while (count > 0) {
      const ssize_t got =
          ::pread(fd_, next, std::min(count, kMostAtOnce), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) throw_corrupt(path_, str("it ends at byte ", offset, " while it is read"));
      next += got;
      offset += static_cast<uint64_t>(got);
      count -= static_cast<uint64_t>(got);
    }
  }

 private:
  static constexpr int kFlags = O_RDONLY | O_CLOEXEC;
  static constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;

  [[noreturn]] void fail() const {
    throw IoError("load: needs a readable file, got '" + path_ + "': " + std::strerror(errno));
  }
  [[noreturn]] void fail_and_close() const {
    const int error = errno;
    ::close(fd_);
    errno = error;
    fail();
  }

  std::string path_;
  int fd_;
  uint64_t bytes_ = 0;
};

/// A buffer with the interface of ReadFile.
class ReadBuffer {
 public:
  explicit ReadBuffer(std::span<const std::byte> content) : content_(content) {}
  uint64_t bytes() const { return content_.size(); }
  void read(uint64_t offset, void* where, uint64_t count) const {
    if (count > 0) std::memcpy(where, content_.data() + offset, count);
  }

 private:
  std::span<const std::byte> content_;
};

/// Any other byte than 0 and 1 in a bool is undefined behaviour in C++: it counts as true.
void normalize_bools(const Tensor& tensor) {
  auto* const bytes = static_cast<unsigned char*>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

template <typename Source>
SafetensorsFile read_from(const Source& source, const std::string& file) {
  if (source.bytes() < 8) {
    throw_corrupt(file, str("it has ", source.bytes(), " bytes, fewer than the first field"));
  }
  unsigned char first8[8];
  source.read(0, first8, 8);
  const uint64_t length = checked_header_length(file, first8, source.bytes());
  std::string json(length, ' ');
  source.read(8, json.data(), length);
  const uint64_t data_start = 8 + length;
  Header header = parse_header(file, json, source.bytes() - data_start);

  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  result.tensors.reserve(header.entries.size());
  for (HeaderEntry& entry : header.entries) {
    const Tensor tensor = empty(entry.shape, entry.dtype);
    source.read(data_start + entry.begin, tensor.data_ptr(), entry.end - entry.begin);
    if (entry.dtype == DType::boolean) normalize_bools(tensor);
    result.tensors.emplace_back(std::move(entry.name), tensor);
  }
  return result;
}

}  // namespace

SafetensorsFile load_safetensors(const std::string& path) {
  return read_from(ReadFile(path), path);
}

SafetensorsFile parse_safetensors(std::span<const std::byte> content, const std::string& name) {
  return read_from(ReadBuffer(content), name);
}

}  // namespace ebb::io
