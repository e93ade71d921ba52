// ebb/io/read_file.cpp -- see read_file.h.
#include "ebb/io/read_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"

namespace ebb::io {

ReadFile::ReadFile(const char* op, const std::string& path)
    // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    : op_(op), path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) fail();
  struct stat status {};
  const int result = ::fstat(fd_, &status);
  const int error = errno;
  if (result == 0 && S_ISREG(status.st_mode)) {
    bytes_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  ::close(fd_);  // the destructor does not run for what was not constructed
  errno = error;
  if (result != 0) fail();
  throw IoError(str(op_, ": needs a regular file, got ", in_quotes(path_)));
}

ReadFile::~ReadFile() { ::close(fd_); }

uint64_t ReadFile::read(uint64_t offset, void* where, uint64_t count) const {
  constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;
  auto* const start = static_cast<char*>(where);
  uint64_t done = 0;
  while (done < count) {
    const ssize_t got = ::pread(fd_, start + done, std::min(count - done, kMostAtOnce),
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail();
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
  }
  return done;
}

void ReadFile::fail() const {
  throw IoError(
      str(op_, ": needs a readable file, got ", in_quotes(path_), ": ", std::strerror(errno)));
}

MappedFile::MappedFile(const char* op, const std::string& name, int descriptor, uint64_t bytes,
                       int flags)
    : bytes_(bytes) {
  if (bytes == 0) return;  // the system maps no empty files
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (start == MAP_FAILED) {
    throw IoError(
        str(op, ": needs a file that can be mapped, got ", name, ": ", std::strerror(errno)));
  }
  data_ = static_cast<char*>(start);
}

std::shared_ptr<MappedFile> MappedFile::make(const ReadFile& file) {
  // NORESERVE: mapping a file larger than memory is fine as long as it is only read.
  return std::shared_ptr<MappedFile>(new MappedFile(file.op(), in_quotes(file.path()),
                                                    file.descriptor(), file.bytes(),
                                                    MAP_PRIVATE | MAP_NORESERVE));
}

std::shared_ptr<MappedFile> MappedFile::make(const char* op, int descriptor, uint64_t bytes) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || static_cast<uint64_t>(status.st_size) < bytes) {
    throw IoError(str(op, ": needs a descriptor of a file of ", bytes, " bytes, got another"));
  }
  return std::shared_ptr<MappedFile>(
      new MappedFile(op, "a descriptor", descriptor, bytes, MAP_SHARED | MAP_POPULATE));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Tensor MappedFile::view(uint64_t offset, IntSpan sizes, DType dtype) {
  uint64_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<uint64_t>(size);
  const uint64_t length = count * item_size(dtype);  // its parts were checked: see the callers
  if (offset > bytes_ || length > bytes_ - offset) {
    throw ValueError(str("map: needs bytes within the ", bytes_, " of the file, got ", length,
                         " from ", offset));
  }
  Shape strides(sizes);
  int64_t stride = 1;
  for (int dim = static_cast<int>(sizes.size()) - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  auto* const keeper = new std::shared_ptr<MappedFile>(shared_from_this());
  const auto release = [](void* context) noexcept {
    delete static_cast<std::shared_ptr<MappedFile>*>(context);
  };
  return from_blob(data_ + offset, sizes, strides, dtype, length, release, keeper);
}

}  // namespace ebb::io
