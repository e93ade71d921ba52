// ebb/optim/grad_scaler.h -- keeps small gradients of float16 above zero: the loss is multiplied by
// a scale, and steps are made only where the gradients, divided by it, are finite.
//
// scale(loss), backward(), then step() for each optimizer, then update(). Python's
// ebb.amp.GradScaler is the same; both follow LossScale.
#pragma once

#include <cstdint>
#include <map>

#include "ebb/core/tensor/tensor.h"
#include "ebb/nn/clip_grad.h"
#include "ebb/optim/optimizer.h"

namespace ebb::amp {

struct GradScalerOptions {
  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  bool enabled = true;
};

/// A scale that grows after so many finite steps in a row, and shrinks at once after another. It
/// stays among the powers of two that float32 holds with their inverses.
struct LossScale {
  double scale = 65536.0;
  int64_t growth_tracker = 0;  // finite steps in a row

  EBB_API void update(bool is_finite, double growth_factor, double backoff_factor,
                      int64_t growth_interval);
};

/// One for all optimizers of a step. Of one thread. Where gradients are on a device, unscale_()
/// waits for nothing; step() waits once for what was found there.
class EBB_API GradScaler {
 public:
  /// Throws ValueError for options out of range.
  explicit GradScaler(const GradScalerOptions& options = {});

  /// `output` times the scale; `output` itself if the scaler is off.
  Tensor scale(const Tensor& output) const;
  /// Divides the gradients by the scale, to clip them before step(). Throws AutogradError if that
  /// was done already since update(), or there is none; DTypeError for float16 gradients.
  void unscale_(optim::Optimizer& optimizer);
  /// Unscales, unless unscale_() did, and makes the step if all gradients are finite: whether it
  /// was made. Throws AutogradError for a second call before update().
  bool step(optim::Optimizer& optimizer);
  /// Adapts the scale to what was found. Throws AutogradError if that was nothing.
  void update();
  /// Sets the scale instead. Throws ValueError unless it has an inverse in float32.
  void update(double new_scale);

  double get_scale() const { return options_.enabled ? scale_.scale : 1.0; }
  bool is_enabled() const { return options_.enabled; }
  const GradScalerOptions& options() const { return options_; }
  const LossScale& state() const { return scale_; }
  void load_state(const LossScale& state);

 private:
  struct Stage {
    bool is_stepped = false;
    nn::utils::Finiteness gradients;
  };
  Stage& unscaled(const char* call, optim::Optimizer& optimizer);

  GradScalerOptions options_;
  LossScale scale_;
  std::map<const optim::Optimizer*, Stage> stages_;  // since update()
};

}  // namespace ebb::amp
