// ebb/autograd/forward/forward_mode.cpp -- levels of a thread; making and taking apart dual
// tensors.
#include "ebb/autograd/forward/forward_mode.h"

#include <utility>

#include "ebb/autograd/history/views.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/view.h"
#include "ebb/core/base/error.h"

namespace ebb {
namespace {

using autograd::ForwardLevel;
using autograd::ForwardLevelPtr;
using autograd::innermost_forward_level;
using autograd::set_innermost_forward_level;

/// The level of an id among those of this thread; 0 stands for the innermost.
ForwardLevelPtr find_level(const char* op, uint64_t id) {
  ForwardLevelPtr level = innermost_forward_level();
  if (level == nullptr) {
    throw AutogradError(str(op, ": needs a level of forward mode, got none entered on this thread",
                            "\nhint: use it inside `with forward_ad.dual_level():`"));
  }
  while (id != 0 && level != nullptr && level->id() != id) level = level->outer();
  if (level == nullptr) {
    throw AutogradError(
        str(op, ": needs a level entered on this thread and not left, got level ", id));
  }
  return level;
}

void check_differentiable(const char* name, const Tensor& tensor) {
  if (!tensor.defined()) {
    throw ValueError(str("make_dual: '", name, "' must be a tensor, got an undefined one"));
  }
  if (is_differentiable(tensor.dtype())) return;
  throw DTypeError(
      str("make_dual: '", name, "' needs a floating or complex dtype, got ", tensor.dtype()));
}

/// The tangent of a tensor that carries one on `level` would get mixed up with the new one.
void check_below(const char* name, const Tensor& tensor, const ForwardLevel& level) {
  std::vector<ForwardLevelPtr> levels;
  autograd::add_levels(tensor, levels);
  if (levels.empty() || levels.back()->id() < level.id()) return;
  throw AutogradError(str("make_dual: '", name,
                          "' must carry no tangent on this level or further in, got one that does",
                          "\nhint: unpack_dual() it first, or enter another level"));
}

Tensor fitting_tangent(const Tensor& tangent, const Tensor& primal) {
  if (!equal(tangent.sizes(), primal.sizes())) {
    throw ShapeError(str("make_dual: the tangent needs the shape ", PrintShape{primal.sizes()},
                         " of the primal, got ", PrintShape{tangent.sizes()}));
  }
  if (is_complex(tangent.dtype()) && !is_complex(primal.dtype())) {
    throw DTypeError(str("make_dual: the tangent of a real primal (", primal.dtype(),
                         ") must be real, got ", tangent.dtype()));
  }
  return tangent.dtype() == primal.dtype() ? tangent : cast(tangent, primal.dtype());
}

}  // namespace

uint64_t enter_forward_level() {
  auto level = std::make_shared<ForwardLevel>(innermost_forward_level());
  const uint64_t id = level->id();
  set_innermost_forward_level(std::move(level));
  return id;
}

void exit_forward_level(uint64_t level) {
  const ForwardLevelPtr innermost = innermost_forward_level();
  if (innermost == nullptr) {
    throw AutogradError("exit_dual_level: needs a level to leave, got none entered on this thread");
  }
  if (level != 0 && innermost->id() != level) {
    throw AutogradError(str("exit_dual_level: needs the innermost level ", innermost->id(),
                            ", got level ", level, "\nhint: leave levels in reverse order"));
  }
  set_innermost_forward_level(innermost->outer());
  innermost->end();
}

uint64_t current_forward_level() {
  const ForwardLevelPtr& innermost = innermost_forward_level();
  return innermost == nullptr ? 0 : innermost->id();
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level) {
  const ForwardLevelPtr on = find_level("make_dual", level);
  check_differentiable("primal", primal);
  check_differentiable("tangent", tangent);
  check_below("primal", primal, *on);
  check_below("tangent", tangent, *on);
  const Tensor fitting = fitting_tangent(tangent, primal);
  const Tensor dual = view(primal, primal.sizes());
  autograd::set_tangent(dual, on, fitting, autograd::TangentMemory::shared);
  return dual;
}

Dual unpack_dual(const Tensor& tensor, uint64_t level) {
  if (innermost_forward_level() == nullptr && level == 0) return {tensor, {}};
  const ForwardLevelPtr on = find_level("unpack_dual", level);
  autograd::settle(tensor);
  const Tensor tangent = autograd::tangent_of(tensor, *on);
  const Tensor primal = view(tensor, tensor.sizes());
  autograd::drop_tangents(primal, on->id());
  return {primal, tangent};
}

}  // namespace ebb
