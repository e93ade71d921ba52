// ebb/core/base/scope.cpp -- the table of scopes: it only grows.
#include "ebb/core/base/scope.h"

#include <pthread.h>

#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <tuple>

namespace ebb {
namespace {

using Step = std::tuple<ScopeId, std::string, std::string>;

struct Table {
  std::mutex mutex;
  std::deque<ScopeInfo> scopes;
  std::map<Step, ScopeId> ids;
};

Table& table() {
  static Table* const instance = [] {
    auto* const made = new Table();  // never destroyed: scopes are asked for until the end
    // A fork while another thread holds the lock would leave it locked for ever in the child.
    pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); },
                   [] { table().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

// Made at load time, as the table of locations is and for the same reason.
[[maybe_unused]] const Table& made_early = table();

}  // namespace

ScopeId intern_scope(ScopeId parent, std::string_view name, std::string_view type) noexcept {
  Table& shared = table();
  try {
    const std::lock_guard lock(shared.mutex);
    Step step(parent, name, type);
    if (const auto known = shared.ids.find(step); known != shared.ids.end()) return known->second;
    if (shared.scopes.size() >= kMaxScope) return parent;
    shared.scopes.push_back({parent, std::string(name), std::string(type)});
    const auto id = static_cast<ScopeId>(shared.scopes.size());
    shared.ids.emplace(std::move(step), id);
    return id;
  } catch (const std::bad_alloc&) {
    return parent;  // a call must not fail because its name could not be noted
  }
}

ScopeInfo describe_scope(ScopeId id) {
  Table& shared = table();
  const std::lock_guard lock(shared.mutex);
  return id == 0 || id > shared.scopes.size() ? ScopeInfo{} : shared.scopes[id - 1];
}

}  // namespace ebb
