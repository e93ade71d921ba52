// ebb/nn/module_call.cpp -- which scope a call of a module opens.
//
// It depends on the module and on the scope around. Its name is looked for below the module that is
// being called, which takes time, so each module remembers the scope of its last call.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ebb/nn/module.h"

namespace ebb::nn {
namespace {

thread_local constinit Module* innermost = nullptr;  // the module whose forward() is running

/// The class, without namespaces: "Linear".
std::string type_of(const Module& module) {
  const char* const mangled = typeid(module).name();
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  const std::string whole = text == nullptr ? mangled : text.get();
  const size_t arguments = std::min(whole.find('<'), whole.size());
  const size_t name = whole.rfind("::", arguments);
  return name == std::string::npos ? whole : whole.substr(name + 2);
}

struct Step {
  size_t above;  // the place of the step before in the list of all
  std::string_view name;
  const Module* module;
};

/// The shortest way from `root` down to `target`, as Python looks for it: level by level. One step,
/// named by the class, to a module that is no part of `root`.
ScopeId intern_steps(const Module& root, const Module& target, ScopeId around) {
  std::vector<Step> seen{{0, "", &root}};
  std::unordered_set<const Module*> known{&root};
  size_t found = 0;
  for (size_t next = 0; next < seen.size() && found == 0; ++next) {
    for (const auto& [name, child] : seen[next].module->children()) {
      if (!known.insert(child.get()).second) continue;
      if (child.get() == &target) found = seen.size();
      seen.push_back({next, name, child.get()});
    }
  }
  if (found == 0) return intern_scope(around, type_of(target), type_of(target));
  std::vector<size_t> way;
  for (; found != 0; found = seen[found].above) way.push_back(found);
  ScopeId scope = around;
  for (; !way.empty(); way.pop_back()) {
    const Step& step = seen[way.back()];
    scope = intern_scope(scope, step.name, type_of(*step.module));
  }
  return scope;
}

[[gnu::noinline]] ScopeId find_scope(Module& module, ScopeId around) {
  if (innermost == nullptr) return intern_scope(around, "", type_of(module));
  // A module that calls itself stays where it is.
  return innermost == &module ? around : intern_steps(*innermost, module, around);
}

}  // namespace

ScopeId ModuleCall::scope_of(Module& module) {
  const ScopeId around = thread_state.scope;
  std::atomic<uint64_t>& known = module.known_scope_.pair;
  const uint64_t pair = known.load(std::memory_order_relaxed);
  const auto own = static_cast<ScopeId>(pair);
  if (own != 0 && pair >> 32 == around) [[likely]]
    return own;
  const ScopeId found = find_scope(module, around);
  known.store((uint64_t{around} << 32) | found, std::memory_order_relaxed);
  return found;
}

ModuleCall::ModuleCall(Module& module)
    : scope_(scope_of(module)), outer_(std::exchange(innermost, &module)) {}

ModuleCall::~ModuleCall() { innermost = outer_; }

}  // namespace ebb::nn
