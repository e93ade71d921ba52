// ebb/optim/master_weight.h -- float32 values of parameters of half types.
//
// A step is often smaller than what bfloat16 or float16 can add to a weight, so it is made on a
// float32 master and the weight is written from that. Between steps others may write the weight:
// where it is no longer what its master rounds to, the weight counts.
#pragma once

#include "ebb/core/tensor/tensor.h"

namespace ebb::optim {

/// Its name in an optimizer's state.
inline constexpr const char* kMasterWeight = "master_weight";

inline bool can_have_master(const Tensor& parameter) { return is_half(parameter.dtype()); }

/// A master that begins as the parameter.
Tensor made_master(const Tensor& parameter);
/// A master for what the parameter is now: kept where it rounds to that, else the parameter.
Tensor mended_master(const Tensor& master, const Tensor& parameter);
/// Whether both show the same elements of memory.
bool shows_same(const Tensor& seen, const Tensor& parameter);

}  // namespace ebb::optim
