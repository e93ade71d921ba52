// ebb/autograd/history/mutation_guard.h -- lets saved tensors be written to: backward sees the old
// values.
//
// A saved tensor is kept as it is until elements of it are about to be written in place; only then
// it is copied, once per version however many nodes saved it.
#pragma once

#include <memory>

#include "ebb/autograd/history/saved_hooks.h"

namespace ebb {

/// What is saved on this thread in this scope may be written to, inside and after it. Throws
/// AutogradError inside another such scope. What an op saves and writes itself is not covered: use
/// the out-of-place form.
class EBB_API AllowMutationGuard {
 public:
  AllowMutationGuard();
  ~AllowMutationGuard();
  AllowMutationGuard(const AllowMutationGuard&) = delete;
  AllowMutationGuard& operator=(const AllowMutationGuard&) = delete;
};

}  // namespace ebb
