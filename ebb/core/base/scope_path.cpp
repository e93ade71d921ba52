// ebb/core/base/scope_path.cpp -- puts the steps of a path together.
#include "ebb/core/base/scope_path.h"

namespace ebb {

std::string scope_path(ScopeId id) {
  std::string path;
  while (id != 0) {
    const ScopeInfo step = describe_scope(id);
    if (!step.name.empty()) path = path.empty() ? step.name : step.name + '.' + path;
    id = step.parent;
  }
  return path;
}

}  // namespace ebb
