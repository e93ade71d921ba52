// ebb/core/base/log.h -- levelled logging, silent by default.
//
// The level comes from EBB_LOG (0 to 9) or set_log_level(). EBB_LOG_AT(3, "text ", value) formats
// only if the level is reached; below it costs one load and one compare.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/core/base/export.h"

namespace ebb {

namespace detail {
extern EBB_API std::atomic<int> log_level;
}

inline int log_level() { return detail::log_level.load(std::memory_order_relaxed); }
/// Throws ValueError unless 0 <= level <= 9.
EBB_API void set_log_level(int level);

/// Where lines go; the default writes to standard error.
using LogSink = void (*)(int level, const std::string& text);
EBB_API void set_log_sink(LogSink sink);
EBB_API void write_log(int level, const std::string& text);

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

#define EBB_LOG_AT(level, ...)                            \
  do {                                                    \
    if (::ebb::log_level() >= (level)) [[unlikely]] {     \
      ::ebb::write_log((level), ::ebb::str(__VA_ARGS__)); \
    }                                                     \
  } while (false)
