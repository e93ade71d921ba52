// ebb/io/atomic_file.cpp -- temporary file, fsync, rename, fsync of the folder.
#include "ebb/io/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"

namespace ebb::io {
namespace {

namespace fs = std::filesystem;

constexpr char kMark[] = ".ebb-tmp-";

/// The file that `path` stands for, links followed; of a link that leads nowhere, the name that
/// it gives, which is where open() would make the file.
fs::path resolved(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the system
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  fs::path real = fs::canonical(path, error);
  if (!error) return real;
  real = path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(real, error); ++links) {
    const fs::path target = fs::read_symlink(real, error);
    if (error) return path;
    real = real.parent_path() / target;  // an absolute target replaces the folder
  }
  return real;
}

/// The mode of the old file, or what the process gives to new ones.
mode_t mode_for(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status.st_mode & 07777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

/// Unique in this process; the process id makes it unique on the machine.
std::string temporary_name(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  return (path.parent_path() / ("." + path.filename().string())).string() + kMark +
         std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
}

}  // namespace

AtomicFile::AtomicFile(std::string op, const std::string& path) : op_(std::move(op)) {
  const fs::path target = resolved(path);
  path_ = target.string();
  folder_ = target.has_parent_path() ? target.parent_path().string() : ".";
  std::error_code error;
  if (fs::is_symlink(target, error)) {
    throw IoError(op_ + ": needs the path of a file, got " + in_quotes(path) +
                  ", a link that leads to itself");
  }
  const fs::file_status status = fs::status(target, error);
  if (path_.empty() || (fs::exists(status) && !fs::is_regular_file(status))) {
    throw IoError(op_ + ": needs the path of a file, got " + in_quotes(path));
  }
  remove_stale();
  temporary_ = temporary_name(target);
  const mode_t mode = mode_for(path_);
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd_ < 0) fail("opening");
  ::fchmod(fd_, mode);  // the mask may have taken bits away; a refusal leaves stricter ones
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd_, next, std::min(bytes, kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing");
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail("flushing");
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) fail("closing");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("renaming");
  temporary_.clear();
  flush_folder();
}

void AtomicFile::fail(const char* what) const {
  throw IoError(op_ + ": needs a writable file, got " + in_quotes(path_) + ": " + what +
                " failed: " + std::strerror(errno));
}

void AtomicFile::remove_stale() const {
  const std::string prefix = "." + fs::path(path_).filename().string() + kMark;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const long owner = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    const bool is_running =
        owner <= 0 || ::kill(static_cast<pid_t>(owner), 0) == 0 || errno != ESRCH;
    if (!is_running) ::unlink(entry.path().c_str());
  }
}

void AtomicFile::flush_folder() const {
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail("opening its folder after the rename");
  const int flushed = ::fsync(folder);
  const int error = errno;
  ::close(folder);
  errno = error;
  // Some file systems cannot flush a folder; they say EINVAL and need none.
  if (flushed != 0 && errno != EINVAL) fail("flushing its folder after the rename");
}

}  // namespace ebb::io
