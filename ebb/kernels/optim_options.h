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
  /// Float32 values of a parameter of a half type: the step is theirs and that of float32 state,
  /// and the parameter is written from them. Null: there are none.
  float* master = nullptr;
  int64_t count = 0;  // elements
  DType dtype = DType::float32;
  bool has_wide_grad = false;  // the gradient of a half type is float32

  /// The same from element `begin` to `end`.
  StepOperands part(int64_t begin, int64_t end) const {
    StepOperands found = *this;
    for (size_t i = 0; i < data.size(); ++i) {
      const bool is_wide = i == 0 ? false : i == 1 ? has_wide_grad : master != nullptr;
      const size_t item = item_size(is_wide ? DType::float32 : dtype);
      if (data[i] == nullptr) continue;
      found.data[i] = static_cast<char*>(data[i]) + static_cast<size_t>(begin) * item;
    }
    if (master != nullptr) found.master = master + begin;
    found.count = end - begin;
    return found;
  }
};

/// Numbers that follow from how many steps a parameter has made, computed once per step.
struct StepFactors {
  double step_size = 0.0;    // learning rate, corrected
  double root_scale = 1.0;   // Adam and its like: square root of 1 - beta2^step
  double grad_size = 0.0;    // NAdam: the step along the gradient itself
  double averaging = 1.0;    // ASGD: the share of the new value in the average
  bool is_first = false;     // the state is fresh
  bool is_rectified = true;  // RAdam: whether the mean square is known well enough to divide by
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

struct AdadeltaOptions {
  double lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0.0;
  bool maximize = false;
};

struct AdamaxOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool maximize = false;
};

struct NAdamOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

struct RAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

struct RpropOptions {
  double lr = 1e-2;
  double etaminus = 0.5;
  double etaplus = 1.2;
  double min_step_size = 1e-6;
  double max_step_size = 50.0;
  bool maximize = false;
};

struct ASGDOptions {
  double lr = 1e-2;
  double lambd = 1e-4;
  double alpha = 0.75;
  double t0 = 1e6;
  double weight_decay = 0.0;
  bool maximize = false;
};

/// How weight decay acts: on the gradient, or on the parameter directly (AdamW).
enum class WeightDecay : uint8_t { coupled, decoupled };

}  // namespace ebb::kernels
