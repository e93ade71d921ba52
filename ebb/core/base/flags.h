// ebb/core/base/flags.h -- the settings of ebb: one list of all, from the environment or set in
// code.
//
// A flag `name` starts as the variable EBB_NAME says. Whoever owns a setting makes a FlagEntry of
// it, static, beside the code that it steers; nobody else reads the environment.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ebb/core/base/export.h"

namespace ebb {

enum class FlagType : uint8_t { boolean, integer, text };
EBB_API std::string_view name_of(FlagType type);

struct Flag {
  const char* name;  // "num_threads"; its variable is EBB_NUM_THREADS
  FlagType type;
  std::string fallback;            // what it is unless something else is said, as text
  const char* doc;                 // what it does, in a sentence
  std::string (*get)() = nullptr;  // its value as text; null if tools read it, not the library
  void (*set)(std::string_view) = nullptr;  // null if it holds from the start only
  /// Of a text: whether it is one that the flag takes; null if all are, or nobody can tell.
  bool (*is_value)(std::string_view) = nullptr;
};

/// Adds a flag to the list. Static, in the file that owns the setting.
class EBB_API FlagEntry {
 public:
  explicit FlagEntry(Flag flag);
  FlagEntry(const FlagEntry&) = delete;
  FlagEntry& operator=(const FlagEntry&) = delete;

 private:
  friend std::vector<const Flag*> all_flags();
  Flag flag_;
  FlagEntry* next_;
};

/// A flag that is `value`, which any thread may set and ask.
template <std::atomic<bool>& value>
Flag switch_flag(const char* name, bool fallback, const char* doc) {
  return {.name = name,
          .type = FlagType::boolean,
          .fallback = fallback ? "true" : "false",
          .doc = doc,
          .get = [] { return std::string(value ? "true" : "false"); },
          .set = [](std::string_view text) { value = text == "true"; }};
}

/// What the environment says of a flag, or "" if nothing.
EBB_API std::string_view flag_in_environment(std::string_view name);
/// The same of a boolean: `fallback` unless the variable is there; "", "0", "false" and "off" are
/// false.
EBB_API bool flag_in_environment(std::string_view name, bool fallback);

/// All flags, by name.
EBB_API std::vector<const Flag*> all_flags();

/// Sets a flag. Throws ValueError, in the name of `call`, for a name that is none, with the
/// nearest; for a flag that holds from the start only; and for a value that is not of its type.
EBB_API void set_flag(const char* call, std::string_view name, std::string_view value);
inline void set_flag(std::string_view name, std::string_view value) {
  set_flag("set_flag", name, value);
}
/// Its value as text: "true" and "false" of a boolean. Throws ValueError for a name that is none.
EBB_API std::string flag(std::string_view name);
/// Where it comes from: "default", "environment" or "code".
EBB_API std::string_view source_of(const Flag& flag);

/// A sentence for each variable EBB_... of the environment that no flag has, or whose value is none
/// of its flag. Ask before any flag is set.
EBB_API std::vector<std::string> faults_of_environment();

}  // namespace ebb
