// ebb/optim/grad_scaler.cpp -- the scale, and in which order a scaler's functions may be called.
#include "ebb/optim/grad_scaler.h"

#include <algorithm>
#include <cmath>

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/operators.h"
#include "ebb/core/base/error.h"

namespace ebb::amp {
namespace {

const double kSmallest = std::ldexp(1.0, -126), kLargest = std::ldexp(1.0, 126);

void check(const GradScalerOptions& options) {
  if (!options.enabled) return;
  const auto need = [](bool holds, const char* name, const char* range, auto value) {
    if (!holds) throw ValueError(str("GradScaler: '", name, "' needs ", range, ", got ", value));
  };
  need(options.init_scale > 0 && options.init_scale <= kLargest, "init_scale", "0 < x < inf",
       options.init_scale);
  need(options.growth_factor > 1, "growth_factor", "> 1", options.growth_factor);
  need(options.backoff_factor > 0 && options.backoff_factor < 1, "backoff_factor", "0 < x < 1",
       options.backoff_factor);
  need(options.growth_interval >= 1, "growth_interval", "a whole number >= 1",
       options.growth_interval);
}

}  // namespace

void LossScale::update(bool is_finite, double growth_factor, double backoff_factor,
                       int64_t growth_interval) {
  if (!is_finite) {
    scale = std::max(scale * backoff_factor, kSmallest);
    growth_tracker = 0;
  } else if (++growth_tracker >= growth_interval) {
    scale = std::min(scale * growth_factor, kLargest);
    growth_tracker = 0;
  }
}

GradScaler::GradScaler(const GradScalerOptions& options) : options_(options) {
  check(options);
  scale_.scale = options.init_scale;
}

Tensor GradScaler::scale(const Tensor& output) const {
  return options_.enabled ? output * scale_.scale : output;
}

GradScaler::Stage& GradScaler::unscaled(const char* call, optim::Optimizer& optimizer) {
  const auto known = stages_.find(&optimizer);
  if (known != stages_.end()) return known->second;
  const std::vector<Tensor>& parameters = optimizer.parameters();
  const bool has_any = std::any_of(parameters.begin(), parameters.end(),
                                   [](const Tensor& one) { return grad_of(one).defined(); });
  if (!has_any) {
    throw AutogradError(str(call, ": needs gradients to look at, got none on this optimizer's ",
                            "parameters\nhint: call backward(scaler.scale(loss)) first"));
  }
  return stages_[&optimizer] = {
             .is_stepped = false,
             .gradients = nn::utils::unscale_grads_(parameters, 1.0 / scale_.scale)};
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!options_.enabled) return;
  const auto known = stages_.find(&optimizer);
  if (known != stages_.end()) {
    throw AutogradError(known->second.is_stepped
                            ? "unscale_: needs to be called before step(), got it after"
                            : "unscale_: needs one call between two of update(), got a second");
  }
  unscaled("unscale_", optimizer);
}

bool GradScaler::step(optim::Optimizer& optimizer) {
  if (!options_.enabled) {
    optimizer.step();
    return true;
  }
  Stage& stage = unscaled("step", optimizer);
  if (stage.is_stepped) {
    throw AutogradError("step: needs one call between two of update(), got a second");
  }
  stage.is_stepped = true;
  stage.gradients = {.is_finite_here = stage.gradients.is_finite(), .found = {}};
  if (stage.gradients.is_finite_here) optimizer.step();
  return stage.gradients.is_finite_here;
}

void GradScaler::update() {
  if (!options_.enabled) return;
  if (stages_.empty()) {
    throw AutogradError("update: needs a step() or unscale_() before it, got none");
  }
  const bool is_finite = std::all_of(stages_.begin(), stages_.end(), [](const auto& entry) {
    return entry.second.gradients.is_finite();
  });
  scale_.update(is_finite, options_.growth_factor, options_.backoff_factor,
                options_.growth_interval);
  stages_.clear();
}

void GradScaler::update(double new_scale) {
  if (!options_.enabled) return;
  if (!(new_scale >= kSmallest && new_scale <= kLargest)) {
    throw ValueError(str("update: 'new_scale' needs 0 < x < inf, got ", new_scale));
  }
  scale_.scale = new_scale;
  stages_.clear();
}

void GradScaler::load_state(const LossScale& state) {
  const bool is_whole = state.scale > 0 && state.scale <= kLargest && state.growth_tracker >= 0;
  if (!is_whole) {
    throw ValueError(str("load_state: needs 0 < scale < inf and a count, got ", state.scale,
                         " and ", state.growth_tracker));
  }
  scale_ = state;
}

}  // namespace ebb::amp
