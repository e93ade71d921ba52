// ebb/kernels/optim_options.h -- options of the optimizers, and the operands of one step.
//
// They are the optimizers' public options (ebb/optim) and what the kernels read: one struct each,
// so that an option is named once. Start reading at StepOperands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ebb/core/base/dtype.h"

namespace ebb::kernels {

/// The largest number of tensors a step goes over: parameter, gradient and up to three of state.
inline constexpr size_t kMaxStepOperands = 5;

/// Dense memory of one floating dtype: the parameter, its gradient, then the state, in the order
/// that the kernel names. Null stands for state that is not kept.
struct StepOperands {
  std::array<void*, kMaxStepOperands> data{};
  int64_t count = 0;  // elements
  DType dtype = DType::float32;
};

/// Numbers that follow from how many steps a parameter has made, computed once per step.
struct StepFactors {
  double step_size = 0.0;   // learning rate, corrected
  double root_scale = 1.0;  // Adam: square root of 1 - beta2^step
  bool is_first = false;    // the state is fresh
};

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  bool maximize = false;
};

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool amsgrad = false;
  bool maximize = false;
};

struct SparseAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  bool maximize = false;
};

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
  bool maximize = false;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double eps = 1e-10;
  bool maximize = false;
};

/// How weight decay acts: on the gradient, or on the parameter directly (AdamW).
enum class WeightDecay : uint8_t { coupled, decoupled };

}  // namespace ebb::kernels
