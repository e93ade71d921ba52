// ebb/optim/lr_scheduler.cpp -- learning-rate schedules.
#include "ebb/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ebb/core/base/error.h"

namespace ebb::optim {
namespace {

/// Calls `use` with the number that is the optimizer's option `name`. Returns whether it has one.
template <typename Use>
bool with_option(Optimizer& optimizer, std::string_view name, Use use) {
  bool found = false;
  optimizer.assign_options([&](const OptionField& option) {
    if (option.name == name && option.number != nullptr) {
      use(*option.number);
      found = true;
    }
  });
  return found;
}

double half_cosine(double part) { return (1 + std::cos(M_PI * part)) / 2; }

void check_one_cycle(const OneCycleOptions& options) {
  if (options.total_steps < 1) {
    throw ValueError(str("OneCycleLR: needs total_steps >= 1, got ", options.total_steps));
  }
  if (!(options.pct_start >= 0 && options.pct_start <= 1)) {
    throw ValueError(str("OneCycleLR: needs 0 <= pct_start <= 1, got ", options.pct_start));
  }
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer), base_lr_(0), last_lr_(0) {
  with_option(optimizer, "lr", [&](double& lr) { base_lr_ = lr; });
}

LRScheduler::~LRScheduler() = default;

void LRScheduler::set_epoch(int64_t epoch) {
  if (epoch < 0) throw ValueError(str("set_epoch: needs epoch >= 0, got ", epoch));
  const double rate = lr_at(epoch);
  with_option(optimizer_, "lr", [&](double& lr) { lr = rate; });
  set_others(epoch);
  last_lr_ = rate;
  epoch_ = epoch;
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  if (step_size < 1) throw ValueError(str("StepLR: needs step_size >= 1, got ", step_size));
  set_epoch(0);
}

double StepLR::lr_at(int64_t epoch) const {
  return base_lr() * std::pow(gamma_, static_cast<double>(epoch / step_size_));
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min)
    : LRScheduler(optimizer), t_max_(t_max), eta_min_(eta_min) {
  if (t_max < 1) throw ValueError(str("CosineAnnealingLR: needs t_max >= 1, got ", t_max));
  set_epoch(0);
}

double CosineAnnealingLR::lr_at(int64_t epoch) const {
  const double part = static_cast<double>(epoch) / static_cast<double>(t_max_);
  return eta_min_ + (base_lr() - eta_min_) * half_cosine(part);
}

LambdaLR::LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor)
    : LRScheduler(optimizer), factor_(std::move(factor)) {
  if (!factor_) throw ValueError("LambdaLR: needs a function, got nothing");
  set_epoch(0);
}

double LambdaLR::lr_at(int64_t epoch) const { return base_lr() * factor_(epoch); }

OneCycleLR::OneCycleLR(Optimizer& optimizer, const OneCycleOptions& options)
    : LRScheduler(optimizer), options_(options) {
  check_one_cycle(options);
  const auto leave = [](double&) {};
  const bool has_momentum =
      with_option(optimizer, "momentum", leave) || with_option(optimizer, "beta1", leave);
  if (options.cycle_momentum && !has_momentum) {
    throw ValueError(
        str("OneCycleLR: needs an optimizer with momentum or betas to cycle the "
            "momentum, got ",
            optimizer.name()));
  }
  set_epoch(0);
}

double OneCycleLR::level_at(int64_t step, double low, double high, double end) const {
  const double last = static_cast<double>(options_.total_steps - 1);
  const double top = options_.pct_start * static_cast<double>(options_.total_steps) - 1;
  const double now = static_cast<double>(step);
  const auto between = [&](double first, double second, double from, double to) {
    // The step after the last one keeps its rate: loops step once more than they use.
    const double part = to == from ? 1.0 : std::min((now - from) / (to - from), 1.0);
    if (options_.anneal == Anneal::linear) return first + (second - first) * part;
    return second + (first - second) * half_cosine(part);
  };
  if (now <= top) return between(low, high, 0, top);
  if (!options_.three_phase) return between(high, end, top, last);
  if (now <= 2 * top) return between(high, low, top, 2 * top);
  return between(low, end, 2 * top, last);
}

double OneCycleLR::lr_at(int64_t step) const {
  if (step > options_.total_steps) {
    throw ValueError(
        str("OneCycleLR: needs at most ", options_.total_steps, " steps, got step ", step));
  }
  const double first = options_.max_lr / options_.div_factor;
  return level_at(step, first, options_.max_lr, first / options_.final_div_factor);
}

void OneCycleLR::set_others(int64_t step) {
  if (!options_.cycle_momentum) return;
  const double momentum =
      level_at(step, options_.max_momentum, options_.base_momentum, options_.max_momentum);
  const auto set = [&](double& value) { value = momentum; };
  if (!with_option(optimizer(), "beta1", set)) with_option(optimizer(), "momentum", set);
}

}  // namespace ebb::optim
