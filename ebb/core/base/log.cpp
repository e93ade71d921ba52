// ebb/core/base/log.cpp -- the levels and the sink.
#include "ebb/core/base/log.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "ebb/core/base/flags.h"
#include "ebb/core/base/thread_state.h"

namespace ebb {
namespace {

constexpr std::array<const char*, kLogParts> kNames = {"general", "op", "engine", "amp"};
using Levels = std::array<int, kLogParts>;

std::optional<int> parse_level(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '9') return {};
  return text[0] - '0';
}

/// Puts "op:6" into the levels; whether it is such a text.
bool read_level(std::string_view text, Levels& levels) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::optional<int> level = parse_level(text.substr(colon + 1));
  for (size_t part = 0; part < kLogParts; ++part) {
    if (!level || text.substr(0, colon) != kNames[part]) continue;
    levels[part] = *level;
    return true;
  }
  return false;
}

std::optional<Levels> parse_levels(std::string_view text) {
  Levels levels{};
  if (const std::optional<int> level = parse_level(text)) {
    levels.fill(*level);
    return levels;
  }
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (!read_level(text.substr(0, end), levels)) return {};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return levels;
}

std::mutex text_mutex;
/// What the levels were set to, as it was said.
std::string& levels_text() {
  static std::string text = "0";
  return text;
}

void store(const Levels& levels, std::string_view text) {
  const std::lock_guard lock(text_mutex);
  levels_text() = text;
  for (size_t part = 0; part < kLogParts; ++part) detail::log_levels[part] = levels[part];
  const bool logs_calls = log_level(LogPart::op) >= kLogsCalls ||
                          log_level(LogPart::engine) >= kLogsRuns ||
                          log_level(LogPart::amp) >= kLogsCasts;
  thread_state.modes = (thread_state.modes & ~gate::kLog) | (logs_calls ? gate::kLog : 0);
}

std::atomic<LogSink> sink{write_log_to_stderr};
std::atomic<WarningSink> warning_sink{nullptr};
thread_local constinit DeferredWarnings* deferred = nullptr;

const FlagEntry entry({
    .name = "log",
    .type = FlagType::text,
    .fallback = "0",
    .doc = "The level of log lines, from 0 (silent) to 9, or of parts: op:6,engine:3,amp:5.",
    .get =
        [] {
          const std::lock_guard lock(text_mutex);
          return levels_text();
        },
    .set = [](std::string_view value) { set_log_levels(value); },
    .is_value = [](std::string_view value) { return parse_levels(value).has_value(); },
});

}  // namespace

constinit std::array<std::atomic<int>, kLogParts> detail::log_levels{};

namespace {
/// What the environment says holds from the start.
const bool is_started = [] {
  const std::string_view text = flag_in_environment("log");
  const std::optional<Levels> levels = parse_levels(text);
  if (!text.empty() && levels) store(*levels, text);
  return true;
}();
}  // namespace

const char* name_of(LogPart part) { return kNames[static_cast<size_t>(part)]; }

void set_log_level(int level) {
  if (level < 0 || level > 9) {
    throw ValueError(str("set_log_level: needs a level from 0 to 9, got ", level));
  }
  set_log_levels(std::to_string(level));
}

void set_log_levels(std::string_view text) {
  const std::optional<Levels> levels = parse_levels(text);
  if (!levels || text.empty()) {
    throw ValueError(str("log: needs a level from 0 to 9, or those of parts, got ", text,
                         "\nhint: such as op:6,engine:3; the parts are general, op, engine, amp"));
  }
  store(*levels, text);
}

void write_log_to_stderr(LogPart part, int level, const std::string& text) {
  if (part == LogPart::general) {
    std::fprintf(stderr, "[ebb %d] %s\n", level, text.c_str());
  } else {
    std::fprintf(stderr, "[ebb.%s %d] %s\n", name_of(part), level, text.c_str());
  }
}

void set_log_sink(LogSink new_sink) { sink = new_sink == nullptr ? write_log_to_stderr : new_sink; }

void write_log(LogPart part, int level, const std::string& text) { sink.load()(part, level, text); }

void warn(const std::string& text) {
  EBB_LOG_AT(LogPart::general, 1, text);
  if (deferred != nullptr) return deferred->add(text);
  if (const WarningSink user = warning_sink) user(text);
}

void set_warning_sink(WarningSink new_sink) { warning_sink = new_sink; }

void DeferredWarnings::add(std::string text) {
  const std::lock_guard lock(mutex_);
  texts_.push_back(std::move(text));
}

void DeferredWarnings::replay() {
  std::vector<std::string> texts;
  {
    const std::lock_guard lock(mutex_);
    texts.swap(texts_);
  }
  const WarningSink user = warning_sink;
  if (user == nullptr) return;
  for (const std::string& text : texts) user(text);
}

DeferWarnings::DeferWarnings(DeferredWarnings& into) : saved_(std::exchange(deferred, &into)) {}
DeferWarnings::~DeferWarnings() { deferred = saved_; }

}  // namespace ebb
