// ebb/autograd/custom/custom_jvp.h -- forward mode through a custom function of C++ or Python.
//
// What the ops inside forward() make of tangents counts for nothing: the function's jvp() says what
// the tangents of the outputs are. Since forward() may write its inputs, their tangents are noted
// before it runs.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ebb/autograd/custom/custom_node.h"
#include "ebb/autograd/forward/dual_call.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Whether a tensor carries a tangent on a live level.
EBB_API bool carries_tangent(std::span<const Tensor> inputs);

/// The tangents of the inputs of one call.
class EBB_API CustomJvp {
 public:
  /// The user's rule on one level: tangents of the inputs (undefined for zero) to those of the
  /// outputs. A tangent of a dirty input is a copy that the rule may write.
  using Rule =
      std::function<std::vector<Tensor>(const DualCall& call, std::vector<Tensor> tangents)>;

  /// Call before forward(), and only if the inputs carry tangents.
  explicit CustomJvp(std::span<const Tensor> inputs);
  /// Calls the rule for each level, lowest first, and gives the outputs of the recorded call what
  /// it returns. Throws ValueError for a wrong number of tangents, or one for an output that has no
  /// derivative; ShapeError or DTypeError for a wrong one.
  void propagate(const CustomCall& call, const Rule& rule) const;

 private:
  /// Tangents of one tensor, by level. No alias carries them, since the memory of an input that has
  /// no relatives must not get one.
  using Noted = std::vector<std::pair<ForwardLevelPtr, Tensor>>;
  std::vector<Tensor> tangents_on(DualCall& dual, const CustomCall& call) const;

  std::vector<Noted> before_;  // by input
};

}  // namespace ebb::autograd
