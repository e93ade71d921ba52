// ebb/devices/launch/disk_cache.cpp -- reading and writing the files of the cache.
#include "ebb/devices/launch/disk_cache.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "ebb/core/base/flags.h"
#include "ebb/core/base/str.h"

namespace ebb::devices {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "ebb kernel program 2\n";

/// Of eight bytes at a time: each first use of an op asks for those of a source and of a program.
uint64_t hash_of(std::string_view text, uint64_t seed) {
  uint64_t hash = seed ^ (text.size() * 0xcbf29ce484222325u);
  for (size_t at = 0; at < text.size(); at += sizeof hash) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Nothing if there is no such file.
std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  std::string text(static_cast<size_t>(std::max<std::streamoff>(file.tellg(), 0)), 0);
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return file ? std::optional(std::move(text)) : std::nullopt;
}

fs::path default_folder() {
  if (const char* const base = std::getenv("XDG_CACHE_HOME"); base != nullptr && *base != 0) {
    return fs::path(base) / "ebb" / "kernels";
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != 0 ? fs::path(home) / ".cache" / "ebb" / "kernels" : fs::path();
}

/// Empty if nothing is to be kept.
const fs::path& folder() {
  static const fs::path chosen = [] {
    const std::string_view text = flag_in_environment("kernel_cache");
    if (text.empty()) return default_folder();
    return text == "0" ? fs::path() : fs::path(text);
  }();
  return chosen;
}

fs::path file_of(const std::string& key) {
  std::array<char, 40> name{};
  std::snprintf(name.data(), name.size(), "%016llx%016llx.bin",
                static_cast<unsigned long long>(hash_of(key, 0)),
                static_cast<unsigned long long>(hash_of(key, 0x5bd1e995)));
  return folder() / name.data();
}

std::string size_of(const std::string& text) {
  const uint64_t size = text.size();
  std::string bytes(sizeof size, 0);
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes;
}

std::string with_size(const std::string& text) { return size_of(text) + text; }

std::string checksum_of(const std::string& text) {
  const uint64_t hash = hash_of(text, 1);
  std::string bytes(sizeof hash, 0);
  std::memcpy(bytes.data(), &hash, sizeof hash);
  return bytes;
}

}  // namespace

bool keeps_programs() { return !folder().empty(); }

std::optional<std::string> load_program(const std::string& key) {
  if (!keeps_programs()) return std::nullopt;
  const std::optional<std::string> all = text_of(file_of(key));
  if (!all) return std::nullopt;
  const std::string head = std::string(kMagic) + with_size(key);
  const size_t fixed = head.size() + 2 * sizeof(uint64_t);
  if (all->size() < fixed || all->compare(0, head.size(), head) != 0) return std::nullopt;
  std::string program = all->substr(fixed);
  const std::string tail = checksum_of(program) + size_of(program);
  if (all->compare(head.size(), tail.size(), tail) != 0) return std::nullopt;
  return program;
}

void store_program(const std::string& key, const std::string& program) {
  if (!keeps_programs()) return;
  static std::atomic<int> counter{0};
  const fs::path target = file_of(key);
  const fs::path draft = target.string() + str('.', getpid(), '.', counter++);
  std::error_code ignored;
  fs::create_directories(folder(), ignored);
  bool is_written = false;
  {
    std::ofstream file(draft, std::ios::binary);
    file << kMagic << with_size(key) << checksum_of(program) << size_of(program) << program;
    file.flush();
    is_written = file.good();
  }
  if (is_written) fs::rename(draft, target, ignored);
  if (!is_written || ignored) fs::remove(draft, ignored);
}

void drop_program(const std::string& key) {
  std::error_code ignored;
  if (keeps_programs()) fs::remove(file_of(key), ignored);
}

}  // namespace ebb::devices
