// ebb/devices/launch/kernel_cache.cpp -- the kernels that this library has compiled.
#include "ebb/devices/launch/kernel_cache.h"

#include <mutex>

#include "ebb/core/base/str.h"

namespace ebb::devices {
namespace {

struct HashOfKey {
  size_t operator()(const SpecKey& key) const { return key.hash(); }
};

struct Cache {
  std::shared_mutex mutex;
  std::unordered_map<SpecKey, std::unique_ptr<Kernel>, HashOfKey> kernels;
};

Cache& cache() {
  static auto* const instance = new Cache();  // kernels live as long as the process
  return *instance;
}

Kernel* find(const SpecKey& key) {
  Cache& all = cache();
  const std::shared_lock lock(all.mutex);
  const auto found = all.kernels.find(key);
  return found != all.kernels.end() ? found->second.get() : nullptr;
}

}  // namespace

Kernel& kernel_of(const SpecKey& key, const char* op, int device,
                  const std::function<Recipe()>& recipe) {
  if (Kernel* const known = find(key)) return *known;
  const Recipe made = recipe();
  // Two threads may compile the same: the first one's stays.
  std::unique_ptr<Kernel> kernel = driver().compile(device, op, made.source, made.entry.c_str());
  Cache& all = cache();
  const std::unique_lock lock(all.mutex);
  return *all.kernels.try_emplace(key, std::move(kernel)).first->second;
}

std::string define(const std::string& name, const std::string& value) {
  return str("#define ", name, ' ', value, '\n');
}

}  // namespace ebb::devices
