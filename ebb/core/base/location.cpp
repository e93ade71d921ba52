// ebb/core/base/location.cpp -- the table of locations, and the symbols of C++ ones.
//
// Ids index one table that only grows. Each thread remembers recent return addresses in a small
// direct-mapped cache, so that a repeated op costs one load and one compare.
#include "ebb/core/base/location.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <tuple>
#include <utility>

#include "ebb/core/base/str.h"

namespace ebb {
namespace {

enum class Kind : uint8_t {
  address,   // a return address
  provided,  // two words that the provider can describe
  stack,     // the id of a place, and that of the stack it was called from
};

struct Entry {
  uintptr_t first;
  uintptr_t second;
  Kind kind;
};

struct Table {
  std::mutex mutex;
  std::deque<Entry> entries;
  std::map<std::tuple<uintptr_t, uintptr_t, Kind>, LocationId> ids;
  std::map<LocationId, SourceLocation> described;  // C++ ones: looking up a symbol takes long
};

Table& table() {
  static Table* const instance = [] {
    auto* const made = new Table();  // never destroyed: ids are asked for until the end
    // A fork while another thread holds the lock would leave it locked for ever in the child.
    pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); },
                   [] { table().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

// Made at load time: a fork while another thread is in the middle of making it would leave the
// child waiting for that thread for ever.
[[maybe_unused]] const Table& made_early = table();

struct CachedAddress {
  void* address;
  LocationId id;
};
struct CachedStack {
  LocationId place, callers, id;
};
/// What one thread met before: programs run the same lines again and again.
struct Cache {
  CachedAddress& place_of(void* address) {
    const auto bits = reinterpret_cast<uintptr_t>(address);
    return addresses[(bits ^ (bits >> 10)) % addresses.size()];
  }

  std::array<CachedAddress, 1024> addresses;
  std::array<CachedStack, 1024> stacks;
  std::vector<LocationId> places;  // of the stack being noted
};

/// A thread's cache. Destructors that run later at the thread's end do without.
struct CacheOwner {
  std::unique_ptr<Cache> cache;
  ~CacheOwner() {
    cache_is_over = true;
    thread_state.location_cache = nullptr;
  }
  static thread_local bool cache_is_over;
};
thread_local bool CacheOwner::cache_is_over = false;

[[gnu::noinline]] Cache* make_cache() noexcept {
  if (CacheOwner::cache_is_over) return nullptr;
  thread_local CacheOwner owner;
  owner.cache.reset(new (std::nothrow) Cache{});
  thread_state.location_cache = owner.cache.get();
  return owner.cache.get();
}
/// Null if there is no memory for one, or the thread is at its end.
Cache* cache_of_thread() noexcept {
  auto* const cache = static_cast<Cache*>(thread_state.location_cache);
  return cache != nullptr ? cache : make_cache();
}

/// The id of an entry; equal ones share it.
LocationId intern(const Entry& entry) noexcept {
  Table& shared = table();
  try {
    const std::lock_guard lock(shared.mutex);
    const auto next = static_cast<LocationId>(shared.entries.size() + 1);
    const auto [found, is_new] =
        shared.ids.try_emplace({entry.first, entry.second, entry.kind}, next);
    if (is_new) shared.entries.push_back(entry);
    return found->second;
  } catch (const std::bad_alloc&) {
    return 0;  // an op must not fail because its line could not be noted
  }
}

/// The id of a return address that this thread's cache does not hold yet.
[[gnu::noinline]] LocationId intern_and_keep(void* address) noexcept {
  const LocationId id = intern({reinterpret_cast<uintptr_t>(address), 0, Kind::address});
  if (Cache* const cache = cache_of_thread()) cache->place_of(address) = {address, id};
  return id;
}

/// What a command prints, or nothing.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 512> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  pclose(pipe);
  return text;
}

std::string demangled(const char* symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  const std::string name = status == 0 ? text : symbol;
  std::free(text);
  return name;
}

/// One line of the program for an address, and one for each function that was inlined there.
using Places = std::vector<SourceLocation>;

/// Reads pairs of lines "function" and "file:line" as addr2line prints them, innermost first, for
/// each address after its own line "0x...".
std::vector<Places> parse_addr2line(const std::string& text) {
  std::vector<Places> all;
  std::istringstream lines(text);
  std::string function, place;
  while (std::getline(lines, function)) {
    if (function.compare(0, 2, "0x") == 0) {
      all.emplace_back();
      continue;
    }
    if (!std::getline(lines, place) || all.empty()) break;
    const size_t colon = place.rfind(':');
    const bool is_known = function.compare(0, 2, "??") != 0 && place.compare(0, 2, "??") != 0;
    if (!is_known || colon == std::string::npos) continue;
    all.back().push_back({.file = place.substr(0, colon),
                          .line = std::atoi(place.c_str() + colon + 1),
                          .function = function});
  }
  return all;
}

/// What addr2line tells of return addresses in one file of code, which starts at `base`.
std::vector<Places> look_up(const std::string& object, uintptr_t base,
                            std::span<const uintptr_t> addresses) {
  if (object.find('\'') != std::string::npos) return {};
  std::ostringstream command;
  command << "addr2line -Cfiae '" << object << "'" << std::hex;
  // One byte back: a return address belongs to the statement after the call.
  for (const uintptr_t address : addresses) command << " 0x" << address - 1 - base;
  command << " 2>/dev/null";
  return parse_addr2line(output_of(command.str()));
}

/// Whether a line is of a header that only passes on what the program wrote: an operator, a method,
/// a call with options.
bool passes_on(const SourceLocation& place) {
  constexpr const char* kHeaders[] = {"ebb/autograd/operators.h", "ebb/autograd/methods.h",
                                      "ebb/autograd/op_options.h", "ebb/autograd/engine/grad.h"};
  return std::any_of(std::begin(kHeaders), std::end(kHeaders), [&](const char* header) {
    return place.file.find(header) != std::string::npos;
  });
}

/// An operator's own line would tell nobody anything: the first outside ebb's headers is the
/// user's.
SourceLocation describe_address(uintptr_t address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) return {};
  SourceLocation found;
  for (const Places& places :
       look_up(info.dli_fname, reinterpret_cast<uintptr_t>(info.dli_fbase), {&address, 1})) {
    for (const SourceLocation& place : places) {
      found = place;
      if (!passes_on(found)) break;
    }
  }
  if (found.file.empty()) found.file = info.dli_fname;
  if (found.function.empty() && info.dli_sname != nullptr) {
    found.function = demangled(info.dli_sname);
  }
  return found;
}

/// Whether a place is a line of the program: not of ebb, nor of the standard library.
bool is_of_program(const SourceLocation& place) {
  constexpr const char* kOwn[] = {"/ebb/core/",  "/ebb/kernels/", "/ebb/ops/",    "/ebb/autograd/",
                                  "/ebb/graph/", "/ebb/nn/",      "/ebb/optim/",  "/ebb/io/",
                                  "/ebb/data/",  "/ebb/testing/", "/usr/include/"};
  return place.line > 0 && std::none_of(std::begin(kOwn), std::end(kOwn), [&](const char* folder) {
           return place.file.find(folder) != std::string::npos;
         });
}

}  // namespace

LocationProvider detail::location_provider;

std::string to_string(const SourceLocation& location) {
  if (location.file.empty()) return "an unknown place";
  std::string text = location.file;
  if (location.line > 0) text += str(':', location.line);
  if (!location.function.empty()) text += str(" in ", location.function);
  return text;
}

void set_location_provider(const LocationProvider& provider) {
  detail::location_provider = provider;
}

LocationId intern_location(uintptr_t first, uintptr_t second, bool from_provider) noexcept {
  return intern({first, second, from_provider ? Kind::provided : Kind::address});
}

LocationId intern_stack(LocationId place, LocationId callers) noexcept {
  Cache* const cache = cache_of_thread();
  if (cache == nullptr) return intern({place, callers, Kind::stack});
  CachedStack& cached = cache->stacks[(place * 31 + callers) % cache->stacks.size()];
  if (cached.id == 0 || cached.place != place || cached.callers != callers) {
    cached = {place, callers, intern({place, callers, Kind::stack})};
  }
  return cached.id;
}

LocationId current_stack(void* return_address) noexcept {
  const LocationId innermost = current_location(return_address);
  const auto append_stack = detail::location_provider.append_stack;
  Cache* const cache = cache_of_thread();
  if (append_stack == nullptr || cache == nullptr) return innermost;
  try {
    std::vector<LocationId>& places = cache->places;
    places.clear();
    append_stack(places);
    // Inside a call that has noted its place already, that holds, whoever runs now.
    if (places.empty() || places[0] != innermost) return innermost;
    LocationId stack = 0;
    for (size_t depth = places.size(); depth-- > 0;) stack = intern_stack(places[depth], stack);
    return stack;
  } catch (const std::bad_alloc&) {
    return innermost;
  }
}

LocationId detail::intern_return_address(void* address) noexcept {
  auto* const cache = static_cast<Cache*>(thread_state.location_cache);
  if (cache != nullptr) [[likely]] {
    const CachedAddress& cached = cache->place_of(address);
    if (cached.address == address) [[likely]]
      return cached.id;
  }
  return intern_and_keep(address);
}

SourceLocation describe_location(LocationId id) {
  Table& shared = table();
  Entry entry;
  {
    const std::lock_guard lock(shared.mutex);
    if (id > 0 && id <= shared.entries.size() && shared.entries[id - 1].kind == Kind::stack) {
      id = static_cast<LocationId>(shared.entries[id - 1].first);
    }
    if (id == 0 || id > shared.entries.size()) return {};
    if (const auto known = shared.described.find(id); known != shared.described.end()) {
      return known->second;
    }
    entry = shared.entries[id - 1];
  }
  if (entry.kind == Kind::provided) {
    const auto describe = detail::location_provider.describe;
    return describe == nullptr ? SourceLocation{} : describe(entry.first, entry.second);
  }
  const SourceLocation found = describe_address(entry.first);
  const std::lock_guard lock(shared.mutex);
  return shared.described.try_emplace(id, found).first->second;
}

std::string line_of(LocationId id) { return to_string(describe_location(id)); }

SourceLocation describe_caller(std::span<void* const> frames) {
  size_t next = 0;
  while (next < frames.size()) {  // one command for neighbours in one file of code
    Dl_info info{};
    const bool is_known = dladdr(frames[next], &info) != 0 && info.dli_fname != nullptr;
    std::vector<uintptr_t> addresses;
    for (Dl_info other{}; next < frames.size(); ++next) {
      if (dladdr(frames[next], &other) == 0 || other.dli_fbase != info.dli_fbase) break;
      addresses.push_back(reinterpret_cast<uintptr_t>(frames[next]));
    }
    if (!is_known || addresses.empty()) {
      ++next;
      continue;
    }
    const auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    for (const Places& places : look_up(info.dli_fname, base, addresses)) {
      const auto found = std::find_if(places.begin(), places.end(), is_of_program);
      if (found != places.end()) return *found;
    }
  }
  return {};
}

std::vector<SourceLocation> describe_stack(LocationId id) {
  std::vector<LocationId> places;
  {
    Table& shared = table();
    const std::lock_guard lock(shared.mutex);
    while (id > 0 && id <= shared.entries.size()) {
      const Entry& entry = shared.entries[id - 1];
      const bool is_stack = entry.kind == Kind::stack;
      places.push_back(is_stack ? static_cast<LocationId>(entry.first) : id);
      id = is_stack ? static_cast<LocationId>(entry.second) : 0;
    }
  }
  std::vector<SourceLocation> stack;
  stack.reserve(places.size());
  for (const LocationId place : places) stack.push_back(describe_location(place));
  return stack;
}

std::string explain_location(LocationId id) {
  const std::vector<SourceLocation> stack = describe_stack(id);
  if (stack.empty()) return to_string(SourceLocation{});
  std::string text = to_string(stack[0]);
  for (size_t depth = 1; depth < stack.size(); ++depth) {
    text += str("\n    called from ", to_string(stack[depth]));
  }
  return text;
}

}  // namespace ebb
