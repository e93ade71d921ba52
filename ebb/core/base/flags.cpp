// ebb/core/base/flags.cpp -- the list of flags, and what the environment says of them.
#include "ebb/core/base/flags.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ebb/core/base/error.h"
#include "ebb/core/base/str.h"

namespace ebb {
namespace {

constexpr std::string_view kPrefix = "EBB_";

// Constant-initialised, so that entries of any file may come first.
constinit FlagEntry* first_entry = nullptr;

std::string variable_of(std::string_view name) {
  std::string variable(kPrefix);
  for (const char letter : name) variable += static_cast<char>(std::toupper(letter));
  return variable;
}

/// How many letters must be changed, put in or left out to get from one word to the other
/// (Levenshtein, 1966).
size_t distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

const Flag& nearest(std::string_view name) {
  const std::vector<const Flag*> flags = all_flags();
  return **std::min_element(flags.begin(), flags.end(), [&](const Flag* one, const Flag* other) {
    return distance(name, one->name) < distance(name, other->name);
  });
}

const Flag& find(const char* call, std::string_view name) {
  for (const Flag* const flag : all_flags()) {
    if (flag->name == name) return *flag;
  }
  throw ValueError(str(call, ": needs the name of a flag, got ", name, "\nhint: perhaps ",
                       nearest(name).name, "; ebb.flags.table() has all"));
}

bool is_false(std::string_view text) {
  return text.empty() || text == "0" || text == "false" || text == "off";
}

bool is_of_type(FlagType type, std::string_view value) {
  if (type == FlagType::boolean) {
    return is_false(value) || value == "1" || value == "true" || value == "on";
  }
  return type == FlagType::text ||
         (!value.empty() && value.size() < 10 &&
          value.find_first_not_of("0123456789") == std::string_view::npos);
}

/// A value of the flag's type, as get() writes it.
std::string normal(const Flag& flag, std::string_view value) {
  if (flag.type == FlagType::boolean) return is_false(value) ? "false" : "true";
  return std::string(value);
}

// What the tools of the project read; listed so that no one takes them for mistakes.
const FlagEntry kOfTools[] = {
    FlagEntry({"jobs", FlagType::integer, "", "How many compilers tools/build.sh runs at once."}),
    FlagEntry({"fuzz_seed", FlagType::integer, "", "The seed of the fuzzers among the tests."}),
    FlagEntry({"race_seconds", FlagType::integer, "60", "How long the tests of races look."}),
    FlagEntry({"only_op", FlagType::text, "", "The ops whose rows the tests try; all if empty."}),
    FlagEntry({"math_stride", FlagType::integer, "4093", "Every which bit pattern is tested."}),
    FlagEntry({"mutant", FlagType::integer, "", "The fault that tools/mutate/ puts in."}),
    FlagEntry({"bench_second_thread", FlagType::boolean, "false", "A thread beside, in benches."}),
};

}  // namespace

std::string_view name_of(FlagType type) {
  constexpr std::string_view kNames[] = {"bool", "int", "str"};
  return kNames[static_cast<int>(type)];
}

FlagEntry::FlagEntry(Flag flag) : flag_(std::move(flag)), next_(std::exchange(first_entry, this)) {}

std::vector<const Flag*> all_flags() {
  std::vector<const Flag*> flags;
  for (const FlagEntry* entry = first_entry; entry != nullptr; entry = entry->next_) {
    flags.push_back(&entry->flag_);
  }
  std::sort(flags.begin(), flags.end(), [](const Flag* one, const Flag* other) {
    return std::string_view(one->name) < other->name;
  });
  return flags;
}

std::string_view flag_in_environment(std::string_view name) {
  const char* const text = std::getenv(variable_of(name).c_str());
  return text == nullptr ? "" : text;
}

bool flag_in_environment(std::string_view name, bool fallback) {
  const char* const text = std::getenv(variable_of(name).c_str());
  return text == nullptr ? fallback : !is_false(text);
}

void set_flag(const char* call, std::string_view name, std::string_view value) {
  const Flag& flag = find(call, name);
  if (flag.set == nullptr) {
    throw ValueError(str(call, ": ", name, " holds from the start, got ", value, "\nhint: set ",
                         variable_of(name), " before the program starts"));
  }
  if (!is_of_type(flag.type, value)) {
    const char* const wanted = flag.type == FlagType::boolean ? "true or false" : "a whole number";
    throw ValueError(str(call, ": ", name, " needs ", wanted, ", got ", value));
  }
  flag.set(normal(flag, value));
}

std::string flag(std::string_view name) {
  const Flag& found = find("flag", name);
  return found.get == nullptr ? std::string(flag_in_environment(name)) : found.get();
}

std::string_view source_of(const Flag& flag) {
  const std::string value = ebb::flag(flag.name);
  if (value == flag.fallback) return "default";
  const std::string_view given = flag_in_environment(flag.name);
  if (flag.type != FlagType::boolean) return value == given ? "environment" : "code";
  const bool fallback = flag.fallback == "true";  // value is the other one
  return flag_in_environment(flag.name, fallback) != fallback ? "environment" : "code";
}

std::vector<std::string> faults_of_environment() {
  std::vector<std::string> found;
  for (const Flag* const flag : all_flags()) {
    const std::string_view given = flag_in_environment(flag->name);
    if (given.empty() || flag->get == nullptr) continue;
    const std::string value = flag->get();
    if (flag->type == FlagType::text) {
      if (flag->is_value == nullptr || flag->is_value(given)) continue;
    } else if (is_of_type(flag->type, given) && normal(*flag, given) == value) {
      continue;
    }
    found.push_back(str(variable_of(flag->name), " cannot be ", given, ": it is ", value));
  }
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    if (!line.starts_with(kPrefix)) continue;
    std::string name(line.substr(kPrefix.size(), line.find('=') - kPrefix.size()));
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    const Flag& near = nearest(name);
    if (near.name == name) continue;
    found.push_back(str(variable_of(name), " is no variable that ebb reads; perhaps ",
                        variable_of(near.name), "?"));
  }
  return found;
}

}  // namespace ebb
