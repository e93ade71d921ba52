// ebb/kernels/cpu/network/optim.h -- one step of an optimizer in one pass over memory.
//
// The formulas are PyTorch's, operation for operation; factors are computed in float64 and rounded
// once. float32 and float64 are computed in themselves, half types in float32. A step runs on the
// calling thread. Operands begin with the parameter and its gradient; the state follows, in the
// order given below, and is written where it is not null.
#pragma once

#include "ebb/kernels/optim_options.h"

namespace ebb::kernels::cpu {

/// State: momentum_buffer, needed if momentum is not 0.
void sgd_step(const SGDOptions& options, const StepFactors& factors, const StepOperands& operands);

/// State: exp_avg, exp_avg_sq, and with AMSGrad max_exp_avg_sq.
void adam_step(const AdamOptions& options, WeightDecay decay, const StepFactors& factors,
               const StepOperands& operands);

/// State: square_avg, momentum_buffer if momentum is not 0, grad_avg if centered.
void rmsprop_step(const RMSpropOptions& options, const StepFactors& factors,
                  const StepOperands& operands);

/// State: sum.
void adagrad_step(const AdagradOptions& options, const StepFactors& factors,
                  const StepOperands& operands);

/// State: square_avg, acc_delta.
void adadelta_step(const AdadeltaOptions& options, const StepFactors& factors,
                   const StepOperands& operands);

/// State: exp_avg, exp_inf.
void adamax_step(const AdamaxOptions& options, const StepFactors& factors,
                 const StepOperands& operands);

/// State: exp_avg, exp_avg_sq.
void nadam_step(const NAdamOptions& options, const StepFactors& factors,
                const StepOperands& operands);

/// State: exp_avg, exp_avg_sq.
void radam_step(const RAdamOptions& options, const StepFactors& factors,
                const StepOperands& operands);

/// State: prev, step_size.
void rprop_step(const RpropOptions& options, const StepFactors& factors,
                const StepOperands& operands);

/// State: ax.
void asgd_step(const ASGDOptions& options, const StepFactors& factors,
               const StepOperands& operands);

}  // namespace ebb::kernels::cpu
