// ebb/core/tensor/write_log.cpp -- joins the writes of a loop, and finds the write that hit a
// region.
#include "ebb/core/tensor/write_log.h"

#include <sys/single_threaded.h>

#include <algorithm>
#include <new>

namespace ebb {

WriteLog::WriteLog(uint32_t missed, size_t bytes) {
  if (missed == 0) return;
  append(nullptr, 0, ByteRegion::dense(0, static_cast<int64_t>(bytes)), 1);
  entries_[0].depth = 1;
  entries_[0].repeats[0] = {0, missed, 1};
}

WriteLog::~WriteLog() {
  if (entries_ != inline_) delete[] entries_;
}

std::unique_lock<std::mutex> WriteLog::lock() const {
  // Free of cost while the process has one thread: none can start while this is held.
  if (__libc_single_threaded) return std::unique_lock(mutex_, std::defer_lock);
  return std::unique_lock(mutex_);
}

/// Takes in a write, or the first of a loop of depth `level`, which this entry has at least, that
/// continues it in equal steps; false if it does not. All of it comes after all that is here.
inline bool WriteLog::Entry::repeat(int level, const ByteRegion& next, uint32_t next_version) {
  if (depth > level + 1) return false;
  if (!region.has_form_of(next)) return false;
  const int64_t stride = next.start - region.start;
  const uint32_t version_step = next_version - version;
  Repeat& last = repeats[level];
  if (depth == level) {
    last = {stride, 2, version_step};
    ++depth;
    return true;
  }
  if (stride != last.stride * last.count || version_step != last.version_step * last.count) {
    return false;
  }
  ++last.count;
  return true;
}

/// The last entry before `end` of this op and line, or -1.
inline int WriteLog::latest_of(const char* op, LocationId location, int end) const {
  const int stop = std::max(end - kLookBack, 0);
  for (int at = end; at-- > stop;) {
    if (entries_[at].location == location && entries_[at].op == op) return at;
  }
  return -1;
}

void WriteLog::note(std::atomic<uint32_t>& version, const char* op, LocationId location,
                    const ByteRegion& region) noexcept {
  const auto held = lock();
  // Under the lock: entries are in the order of their versions, and none is missing.
  const uint32_t now = version.fetch_add(1, std::memory_order_relaxed) + 1;
  if (now == 0) count_ = 0;  // versions start anew: what was saved before is refused
  const int at = latest_of(op, location, count_);
  if (at < 0 || !entries_[at].repeat(0, region, now)) {
    append(op, location, region, now);
  } else if (at > 0) {
    join_loops(at);
  }
}

/// The loop at `at` may have made as many writes as the one before: both are then turns of an outer
/// loop.
void WriteLog::join_loops(int at) noexcept {
  const Entry& turn = entries_[at];
  const int outer = latest_of(turn.op, turn.location, at);
  if (outer < 0) return;
  Entry& before = entries_[outer];
  const int level = turn.depth;  // 1: a deeper one takes in no single write
  if (before.depth < level) return;
  if (!std::equal(turn.repeats, turn.repeats + level, before.repeats)) return;
  if (!before.repeat(level, turn.region, turn.version)) return;
  std::copy(entries_ + at + 1, entries_ + count_, entries_ + at);
  --count_;
}

void WriteLog::append(const char* op, LocationId location, const ByteRegion& region,
                      uint32_t version) noexcept {
  if (count_ == capacity_ && !grow()) fold_older_half();
  Entry& entry = entries_[count_++];
  entry.region = region;
  entry.op = op;
  entry.location = location;
  entry.version = version;
  entry.depth = 0;
}

/// Doubles the room; false if that is not allowed or there is no memory.
bool WriteLog::grow() noexcept {
  if (capacity_ == kMaxEntries) return false;
  auto* const larger = new (std::nothrow) Entry[static_cast<size_t>(2 * capacity_)];
  if (larger == nullptr) return false;
  std::copy(entries_, entries_ + count_, larger);
  if (entries_ != inline_) delete[] entries_;
  entries_ = larger;
  capacity_ *= 2;
  return true;
}

/// Makes one entry of the older half: as if all bytes from its first to its last had been written
/// at its first version, and again at its last.
void WriteLog::fold_older_half() noexcept {
  const int folded = std::max(count_ / 2, 2);
  int64_t first = INT64_MAX, last = 0;
  uint32_t first_version = UINT32_MAX, last_version = 0;
  for (int at = 0; at < folded; ++at) {
    const Entry& entry = entries_[at];
    first_version = std::min(first_version, entry.version);
    last_version = std::max(last_version, entry.last_version());
    int64_t lowest = entry.region.start, highest = lowest + entry.region.span();
    if (entry.region.run == 0) continue;
    for (int level = 0; level < entry.depth; ++level) {
      const int64_t reach = entry.repeats[level].stride * (entry.repeats[level].count - 1);
      (reach < 0 ? lowest : highest) += reach;
    }
    first = std::min(first, lowest);
    last = std::max(last, highest);
  }
  std::copy(entries_ + folded, entries_ + count_, entries_ + 1);
  Entry& sum = entries_[0];
  sum.region = first < last ? ByteRegion::dense(first, last - first) : ByteRegion();
  sum.op = nullptr;
  sum.location = 0;
  sum.version = first_version;
  sum.depth = 1;
  sum.repeats[0] = {0, 2, last_version - first_version};
  count_ -= folded - 1;
}

std::optional<WriteRecord> WriteLog::find(uint32_t version, const ByteRegion& region) const {
  const auto held = lock();
  std::optional<WriteRecord> found;
  for (int at = 0; at < count_; ++at) {
    const Entry& entry = entries_[at];
    if (entry.last_version() <= version || !entry.is_hit_after(version, region)) continue;
    found = {.version = std::max(entry.version, version + 1),
             .location = entry.location,
             .op = entry.op};
    if (entry.op != nullptr) break;  // entries are in the order of their first writes
  }
  return found;
}

uint32_t WriteLog::Entry::last_version() const {
  uint32_t last = version;
  for (int level = 0; level < depth; ++level) {
    last += repeats[level].version_step * (repeats[level].count - 1);
  }
  return last;
}

/// Whether a write after version `since` may have hit `target`.
bool WriteLog::Entry::is_hit_after(uint32_t since, const ByteRegion& target) const {
  int64_t start = region.start;
  uint32_t first = version;  // of the turn that is looked at
  for (int level = depth; level-- > 0;) {
    const Repeat& repeat = repeats[level];
    if (first > since) return meets(start, level + 1, 0, target);
    // Turns that began later are all later; of the one before, some writes may be.
    const uint32_t begun = std::min((since - first) / repeat.version_step + 1, repeat.count);
    const int64_t next = start + repeat.stride * begun;
    if (begun < repeat.count && meets(next, level, repeat.count - begun, target)) return true;
    first += repeat.version_step * (begun - 1);
    start += repeat.stride * (begun - 1);
  }
  return first > since && meets(start, 0, 0, target);
}

/// Whether the loops below `level`, that many turns of the one at it (0: none), the first of them
/// at byte `start`, may have hit `target`.
bool WriteLog::Entry::meets(int64_t start, int level, uint32_t count,
                            const ByteRegion& target) const {
  ByteAxis axes[kMaxDepth];
  int used = 0;
  for (; used < level; ++used) axes[used] = {repeats[used].stride, repeats[used].count};
  if (count > 0) axes[used] = {repeats[used].stride, count}, ++used;
  ByteRegion written = region;
  written.start = start;
  return may_meet(written, {axes, static_cast<size_t>(used)}, target);
}

}  // namespace ebb
