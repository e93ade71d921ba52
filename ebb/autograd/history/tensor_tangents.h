// ebb/autograd/history/tensor_tangents.h -- the tangents of a tensor: asking, setting, dropping.
#pragma once

#include <cstdint>
#include <vector>

#include "ebb/autograd/history/tangents.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// The tangent of `tensor` on a level, or an undefined tensor.
EBB_API Tensor tangent_of(const Tensor& tensor, const ForwardLevel& level);
EBB_API void set_tangent(const Tensor& tensor, const ForwardLevelPtr& level, Tensor tangent,
                         TangentMemory memory);
/// Says that a write just gave `tensor` its tangent on a level: its views that were there before
/// look again (dual_call.h).
EBB_API void mark_given(const Tensor& tensor, const ForwardLevel& level);
/// Drops tangents on this level and on higher ones, the flag too if none is left.
EBB_API void drop_tangents(const Tensor& tensor, uint64_t from_level);
/// Lets `target` carry what `source` carries on live levels: the same tangents, shared.
EBB_API void copy_tangents(const Tensor& source, const Tensor& target);
/// The live levels on which a tensor carries a tangent are added to `levels`, each once, in order.
EBB_API void add_levels(const Tensor& tensor, std::vector<ForwardLevelPtr>& levels);
/// Whether the tensor carries a tangent on a live level.
EBB_API bool is_dual(const Tensor& tensor);

/// The same value and history, without the tangents on `level` and above. For reading only: it is
/// not the tensor itself if it carries such a tangent.
EBB_API Tensor below_level(const Tensor& tensor, const ForwardLevel& level);

/// A view looks again: its base may have got a first tangent, by a write, after it was made. Called
/// where the base carries tangents; set by forward mode (dual_call.cpp).
extern EBB_API void (*adopt_tangents)(TensorImpl& view);

}  // namespace ebb::autograd
