// ebb/core/tensor/write_log.h -- the in-place writes of a storage: which bytes, in which order, by
// whom.
//
// Backward asks whether what it saved was written since. A loop that fills a buffer writes at one
// line, in equal steps of place and version: all its writes are one entry, which still knows when
// each was made. Two such loops may be nested. When the log is full, its older half becomes one
// entry that stands for more bytes than were written, never for less. Start reading at note().
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "ebb/core/tensor/byte_region.h"
#include "ebb/core/tensor/write_record.h"

namespace ebb {

/// The log of one storage. Any thread may write and ask.
class EBB_API WriteLog {
 public:
  /// The most entries that are kept.
  static constexpr int kMaxEntries = 64;

  /// `missed` writes, of any of the `bytes`, were made before there was a log.
  WriteLog(uint32_t missed, size_t bytes);
  ~WriteLog();
  WriteLog(const WriteLog&) = delete;
  WriteLog& operator=(const WriteLog&) = delete;

  /// Raises `version` and notes the write that did. Never fails: without memory it knows less.
  void note(std::atomic<uint32_t>& version, const char* op, LocationId location,
            const ByteRegion& region) noexcept;
  /// A write after `version` that may have touched `region`, the first as far as is known; its op
  /// is null where only their sum is known.
  std::optional<WriteRecord> find(uint32_t version, const ByteRegion& region) const;
  /// For tests.
  int entries() const { return count_; }

 private:
  static constexpr int kMaxDepth = 2;   // loops in one entry
  static constexpr int kInline = 2;     // entries without memory of their own
  static constexpr int kLookBack = 16;  // entries among which a loop's is sought

  /// What came before again, so often, so far on, so many versions later.
  struct Repeat {
    int64_t stride;
    uint32_t count;
    uint32_t version_step;

    bool operator==(const Repeat&) const = default;
  };
  struct Entry {
    ByteRegion region;  // of the first write
    const char* op;
    LocationId location;
    uint32_t version;  // of the first write
    int depth;
    Repeat repeats[kMaxDepth];  // the first `depth`, from the innermost

    bool repeat(int level, const ByteRegion& next, uint32_t next_version);
    uint32_t last_version() const;
    bool is_hit_after(uint32_t since, const ByteRegion& target) const;
    bool meets(int64_t start, int level, uint32_t count, const ByteRegion& target) const;
  };

  std::unique_lock<std::mutex> lock() const;
  int latest_of(const char* op, LocationId location, int end) const;
  void join_loops(int at) noexcept;
  void append(const char* op, LocationId location, const ByteRegion& region,
              uint32_t version) noexcept;
  bool grow() noexcept;
  void fold_older_half() noexcept;

  mutable std::mutex mutex_;
  Entry* entries_ = inline_;
  int count_ = 0;
  int capacity_ = kInline;
  Entry inline_[kInline];
};

}  // namespace ebb
