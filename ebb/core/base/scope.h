// ebb/core/base/scope.h -- which module of a network is being called, as a number.
//
// A scope is a step on the way from the outermost module that is being called to the innermost: a
// name such as "3" or "attn", within the scope around it. The number of the innermost one is part
// of the thread's state, and recording an op keeps it; the path "blocks.3.attn" is put together
// when somebody asks. Equal steps share a number, so there are as many as a program has modules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ebb/core/base/export.h"
#include "ebb/core/base/thread_state.h"

namespace ebb {

/// 0 outside of all modules.
using ScopeId = uint32_t;
inline constexpr ScopeId kMaxScope = 0x7fffff;

/// One step. The outermost module has an empty name.
struct ScopeInfo {
  ScopeId parent = 0;
  std::string name;
  std::string type;
};

/// The number of a step; `parent` if there is no number or no memory left.
EBB_API ScopeId intern_scope(ScopeId parent, std::string_view name, std::string_view type) noexcept;
/// Of 0, or a number that nobody handed out: nothing.
EBB_API ScopeInfo describe_scope(ScopeId id);

/// Lets what is recorded in a block belong to a module.
class ModuleScope {
 public:
  /// A part `name` of the module that is being called; an empty name for the outermost one.
  explicit ModuleScope(std::string_view name, std::string_view type = "")
      : ModuleScope(intern_scope(thread_state.scope, name, type)) {}
  explicit ModuleScope(ScopeId id) : saved_(thread_state.scope) { thread_state.scope = id; }
  ~ModuleScope() { thread_state.scope = saved_; }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  ScopeId saved_;
};

}  // namespace ebb
