// ebb/kernels/optim_options.h -- options of the optimizers, and the operands of one step.
//
// The options (ops/optim/fused.yaml) are the optimizers' public ones and what the kernels read: one
// struct each, so that an option is named once. Start reading at StepOperands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ebb/core/base/dtype.h"
#include "ebb/kernels/optimizer_options.h"

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

/// How weight decay acts: on the gradient, or on the parameter directly (AdamW).
enum class WeightDecay : uint8_t { coupled, decoupled };

}  // namespace ebb::kernels
