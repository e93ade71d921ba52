// ebb/kernels/cpu/optim.h -- one step of an optimizer in one pass over memory.
//
// The formulas are PyTorch's, operation for operation; factors are computed in float64 and rounded
// once. All views are dense and of one floating dtype: float32 and float64 are computed in
// themselves, half types in float32. A step runs on the calling thread.
#pragma once

#include <cstdint>

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::cpu {

struct SgdArgs {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  bool maximize = false;
  bool first_step = false;  // momentum_buf is taken to hold nothing yet
};

/// Updates param and, where its data is not null, momentum_buf.
void sgd_step(const SgdArgs& args, const TensorView& param, const TensorView& grad,
              const TensorView& momentum_buf);

struct AdamWArgs {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  int64_t step = 1;  // counts from 1
  bool maximize = false;
  bool decoupled = true;  // AdamW; otherwise Adam, whose weight decay is added to the gradient
};

/// Updates param and both moments; max_exp_avg_sq too where its data is not null (AMSGrad).
void adamw_step(const AdamWArgs& args, const TensorView& param, const TensorView& grad,
                const TensorView& exp_avg, const TensorView& exp_avg_sq,
                const TensorView& max_exp_avg_sq = {});

}  // namespace ebb::kernels::cpu
