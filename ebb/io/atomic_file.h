// ebb/io/atomic_file.h -- AtomicFile: writes a file so that readers see the old one or the new one.
//
// The bytes go to a temporary file in the same folder; commit() flushes it to disk, renames it over
// the target and flushes the folder. Without commit() the temporary file is removed. One left by a
// process that was killed is removed when the same target is next written.
#pragma once

#include <cstddef>
#include <string>

#include "ebb/core/base/export.h"

namespace ebb::io {

/// See the top of the file. For one thread.
class EBB_API AtomicFile {
 public:
  /// Opens the temporary file. A symbolic link is followed; the mode of an old file is kept.
  /// `op` opens the messages. Throws IoError.
  AtomicFile(std::string op, const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws IoError.
  void write(const void* data, size_t bytes);
  /// Puts the file in place. Throws IoError, and then the old file is still there unless the
  /// message says that only the folder could not be flushed.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  void remove_stale() const;
  void flush_folder() const;

  std::string op_;
  std::string path_;  // links resolved
  std::string folder_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace ebb::io
