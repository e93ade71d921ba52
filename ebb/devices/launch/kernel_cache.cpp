// ebb/devices/launch/kernel_cache.cpp -- the kernels that this library has compiled.
#include "ebb/devices/launch/kernel_cache.h"

#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "ebb/core/base/error.h"
#include "ebb/core/base/str.h"

namespace ebb::devices {
namespace {

struct HashOfKey {
  size_t operator()(const SpecKey& key) const { return key.hash(); }
};

using Kernels = std::unordered_map<SpecKey, std::unique_ptr<Kernel>, HashOfKey>;

struct Cache {
  std::mutex mutex;
  Kernels kernels;  // none ever goes, so that an entry stays where it is
};

Cache& cache() {
  static auto* const instance = new Cache();  // kernels live as long as the process
  return *instance;
}

/// What was asked for last, by a part of the key's hash.
constexpr size_t kRemembered = 256;
constinit std::atomic<const Kernels::value_type*> remembered[kRemembered];

std::atomic<const Kernels::value_type*>& place_of(const SpecKey& key) {
  const size_t hash = key.hash();
  return remembered[(hash ^ (hash >> 32)) % kRemembered];
}

/// Looks among all; what is found is the one that was asked for last.
[[gnu::noinline]] Kernel* find_kernel(const SpecKey& key,
                                      std::atomic<const Kernels::value_type*>& place) {
  Cache& all = cache();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kernels.find(key);
  if (found == all.kernels.end()) return nullptr;
  place.store(&*found, std::memory_order_release);
  return found->second.get();
}

}  // namespace

void SpecKey::throw_no_room(uint64_t value, int bits) const {
  throw InternalError(str("kernel key: needs ", bits, " of ", kBits - used_,
                          " bits that are left for a value of ", std::bit_width(value)));
}

Kernel* known_kernel(const SpecKey& key) {
  std::atomic<const Kernels::value_type*>& place = place_of(key);
  const Kernels::value_type* const last = place.load(std::memory_order_acquire);
  if (last != nullptr && last->first == key) [[likely]]
    return last->second.get();
  return find_kernel(key, place);
}

Kernel& new_kernel(const SpecKey& key, const char* op, int device, const Recipe& recipe) {
  // Two threads may compile the same: the first one's stays.
  std::unique_ptr<Kernel> kernel =
      driver().compile(device, op, recipe.source, recipe.entry.c_str());
  Cache& all = cache();
  const std::lock_guard lock(all.mutex);
  return *all.kernels.try_emplace(key, std::move(kernel)).first->second;
}

std::string define(const std::string& name, const std::string& value) {
  return str("#define ", name, ' ', value, '\n');
}

}  // namespace ebb::devices
