// ebb/core/base/log.h -- levelled logging, silent by default.
//
// Each part of ebb has a level, from EBB_LOG (6, or "op:6,engine:3"), set_log_level() or
// set_log_levels(). EBB_LOG_AT(LogPart::general, 3, "text ", value) formats only if the part's
// level is reached; below it costs one load and one compare. What happens on every call costs not
// even that: whoever logs it tests gate::kLog together with other modes, a bit of the thread that
// set the levels (of the environment's, that loaded the library) and of those that work for it.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/core/base/export.h"

namespace ebb {

enum class LogPart : uint8_t { general, op, engine, amp };
inline constexpr size_t kLogParts = 4;
/// As EBB_LOG spells it.
EBB_API const char* name_of(LogPart part);

// The levels of what is logged often.
inline constexpr int kLogsRuns = 3;      // engine: a backward run begins
inline constexpr int kLogsCasts = 5;     // amp: autocast casts an operand
inline constexpr int kLogsCalls = 6;     // op: what was called; engine: the node that is run
inline constexpr int kLogsOperands = 7;  // the same with shapes and dtypes

namespace detail {
extern EBB_API std::array<std::atomic<int>, kLogParts> log_levels;
}

inline int log_level(LogPart part = LogPart::general) {
  return detail::log_levels[static_cast<size_t>(part)].load(std::memory_order_relaxed);
}
/// Of all parts. Throws ValueError unless 0 <= level <= 9.
EBB_API void set_log_level(int level);
/// A level for all parts, or those of some, the others being silent: "op:6,engine:3". Throws
/// ValueError for any other text.
EBB_API void set_log_levels(std::string_view text);

/// Where lines go; the default writes to standard error.
using LogSink = void (*)(LogPart part, int level, const std::string& text);
/// Null: the default.
EBB_API void set_log_sink(LogSink sink);
EBB_API void write_log(LogPart part, int level, const std::string& text);
EBB_API void write_log_to_stderr(LogPart part, int level, const std::string& text);

/// Tells the user of something that works, but not as hoped for: a line of level 1, and what the
/// warning sink makes of it (Python: a UserWarning). The sink may throw, to make it an error.
EBB_API void warn(const std::string& text);
using WarningSink = void (*)(const std::string& text);
EBB_API void set_warning_sink(WarningSink sink);

/// Warnings of threads that work for another one, for that one to give. May be used by many.
class EBB_API DeferredWarnings {
 public:
  void add(std::string text);
  /// Gives them to the warning sink on this thread, in the order they came. Stops at one for which
  /// the sink throws.
  void replay();

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

/// While it lives, what this thread would give to the warning sink goes to `into`.
class EBB_API DeferWarnings {
 public:
  explicit DeferWarnings(DeferredWarnings& into);
  ~DeferWarnings();
  DeferWarnings(const DeferWarnings&) = delete;
  DeferWarnings& operator=(const DeferWarnings&) = delete;

 private:
  DeferredWarnings* saved_;
};

}  // namespace ebb

#define EBB_LOG_AT(part, level, ...)                              \
  do {                                                            \
    if (::ebb::log_level(part) >= (level)) [[unlikely]] {         \
      ::ebb::write_log((part), (level), ::ebb::str(__VA_ARGS__)); \
    }                                                             \
  } while (false)
