// ebb/core/base/scope_path.h -- a module's dotted path.
#pragma once

#include <string>

#include "ebb/core/base/scope.h"

namespace ebb {

/// "blocks.3.attn"; "" for the outermost module and outside of all.
EBB_API std::string scope_path(ScopeId id);

}  // namespace ebb
