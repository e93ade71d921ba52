// ebb/core/base/log.cpp -- the level and the sink.
#include "ebb/core/base/log.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ebb {
namespace {

int initial_level() {
  const char* const text = std::getenv("EBB_LOG");
  const bool is_digit = text != nullptr && text[0] >= '0' && text[0] <= '9' && text[1] == '\0';
  return is_digit ? text[0] - '0' : 0;
}

void write_to_stderr(int level, const std::string& text) {
  std::fprintf(stderr, "[ebb %d] %s\n", level, text.c_str());
}

std::atomic<LogSink> sink{write_to_stderr};
std::atomic<WarningSink> warning_sink{nullptr};
thread_local constinit DeferredWarnings* deferred = nullptr;

}  // namespace

std::atomic<int> detail::log_level{initial_level()};

void set_log_level(int level) {
  if (level < 0 || level > 9) {
    throw ValueError(str("set_log_level: needs a level from 0 to 9, got ", level));
  }
  detail::log_level.store(level);
}

void set_log_sink(LogSink new_sink) { sink = new_sink == nullptr ? write_to_stderr : new_sink; }

void write_log(int level, const std::string& text) { sink.load()(level, text); }

void warn(const std::string& text) {
  EBB_LOG_AT(1, text);
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
