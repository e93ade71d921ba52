// ebb/core/device/op_context.cpp -- the numbers of pairs of a scope and a set of streams.
#include "ebb/core/device/op_context.h"

#include <pthread.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "ebb/core/base/error.h"

namespace ebb::detail {
namespace {

struct Contexts {
  std::mutex mutex;
  std::map<std::pair<ScopeId, StreamSet>, OpContext> ids;
  std::vector<ContextParts> parts;
};

Contexts& contexts() {
  static Contexts* const instance = [] {
    auto* const made = new Contexts();  // never destroyed: nodes ask until the end
    // A fork while another thread holds the lock would leave it locked for ever in the child.
    pthread_atfork([] { contexts().mutex.lock(); }, [] { contexts().mutex.unlock(); },
                   [] { contexts().mutex.unlock(); });
    return made;
  }();
  return *instance;
}
// Made at load time, like the table of locations.
[[maybe_unused]] const Contexts& made_early = contexts();

}  // namespace

OpContext intern_context(ContextParts parts) {
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  const std::pair key(parts.scope & kMaxScope, parts.streams);
  if (const auto known = all.ids.find(key); known != all.ids.end()) return known->second;
  if (all.parts.size() > kMaxScope) {
    throw OutOfMemoryError("op_context: too many pairs of a module and a set of streams");
  }
  all.parts.reserve(all.parts.size() + 1);
  const auto id = kHasStreams | static_cast<OpContext>(all.parts.size());
  all.ids.emplace(key, id);
  all.parts.push_back({key.first, key.second});
  return id;
}

ContextParts parts_of_context(OpContext context) {
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  const size_t index = context & kMaxScope;
  return index < all.parts.size() ? all.parts[index] : ContextParts();
}

}  // namespace ebb::detail
