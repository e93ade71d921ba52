// ebb/optim/master_weight.cpp -- making masters, and mending them after others wrote the weight.
#include "ebb/optim/master_weight.h"

#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/meta.h"

namespace ebb::optim {

// Devices need no kernels for half types: masters are made on the CPU, as steps are.

Tensor made_master(const Tensor& parameter) {
  const ModeScope quiet(gate::kNoGrad, gate::kWatched);
  if (is_meta(parameter)) return cast(parameter, DType::float32);
  return to_device(cast(host_copy(parameter), DType::float32), parameter.device());
}

Tensor mended_master(const Tensor& master, const Tensor& parameter) {
  const ModeScope quiet(gate::kNoGrad, gate::kWatched);
  const Tensor kept = host_copy(master);
  const Tensor now = host_copy(parameter);
  const Tensor is_kept = eq(cast(kept, now.dtype()), now);
  const Tensor mended = where(is_kept, kept, cast(now, DType::float32));
  return to_device(mended, parameter.device());
}

bool shows_same(const Tensor& seen, const Tensor& parameter) {
  const TensorImpl& old = *seen.impl();
  const TensorImpl& now = *parameter.impl();
  return old.data == now.data && old.storage == now.storage && old.dtype == now.dtype &&
         equal(seen.strides(), parameter.strides());
}

}  // namespace ebb::optim
