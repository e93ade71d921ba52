// ebb/autograd/forward/forward_mode.h -- forward mode: derivatives along a direction, as the
// program runs.
//
// Inside a level, make_dual() gives a tensor a tangent; every op then gives its results theirs, and
// unpack_dual() reads them. Levels nest: a tangent may itself carry tangents on outer levels, which
// gives derivatives of any order. Ops are recorded as always, so that backward can run over forward
// and forward over backward. Rules are listed in the op table (`jvp:`).
#pragma once

#include <cstdint>

#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// Enters a level on this thread; ForwardLevelGuard is the safe way. Returns its id.
EBB_API uint64_t enter_forward_level();
/// Leaves the innermost level, whose tangents are dropped. Throws AutogradError if there is none,
/// or if `level` is given (not 0) and is not the innermost.
EBB_API void exit_forward_level(uint64_t level = 0);
/// The id of the innermost level of this thread, or 0.
EBB_API uint64_t current_forward_level();

/// A level for the length of a scope.
class ForwardLevelGuard {
 public:
  ForwardLevelGuard() : level_(enter_forward_level()) {}
  ~ForwardLevelGuard() { exit_forward_level(level_); }
  ForwardLevelGuard(const ForwardLevelGuard&) = delete;
  ForwardLevelGuard& operator=(const ForwardLevelGuard&) = delete;
  uint64_t id() const { return level_; }

 private:
  uint64_t level_;
};

/// A view of `primal` that carries `tangent` on a level (0: the innermost). The tangent needs the
/// shape of the primal; another dtype is cast, and it is used as it is otherwise.
/// Throws AutogradError without a level, or if one of both carries a tangent on it or further in;
/// DTypeError unless both are floating or complex; ShapeError.
EBB_API Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level = 0);

/// What a dual tensor is made of; an undefined tangent stands for zero.
struct Dual {
  Tensor primal;  // a view without tangents on this level and further in
  Tensor tangent;
};
EBB_API Dual unpack_dual(const Tensor& tensor, uint64_t level = 0);

}  // namespace ebb
