// ebb/optim/lr_scheduler.h -- learning-rate schedules: the rate as a function of the epoch.
//
// A schedule sets its optimizer's rate for epoch 0 when it is made and for the next epoch at each
// step(). The rate follows from the epoch alone, so set_epoch() is all that resuming takes. The
// optimizer must outlive it. (The Python package has more schedules, written in Python.)
#pragma once

#include <cstdint>
#include <functional>

#include "ebb/optim/optimizer.h"

namespace ebb::optim {

/// Base of all schedules.
class EBB_API LRScheduler {
 public:
  virtual ~LRScheduler();
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// Goes on to the next epoch; after the optimizer's step.
  void step() { set_epoch(epoch_ + 1); }
  /// Goes to any epoch. Throws ValueError for a negative one.
  void set_epoch(int64_t epoch);
  int64_t last_epoch() const { return epoch_; }
  /// The rate that was set last.
  double last_lr() const { return last_lr_; }

 protected:
  /// Subclasses call set_epoch(0) at the end of their constructors.
  explicit LRScheduler(Optimizer& optimizer);

  /// The optimizer's rate before the schedule.
  double base_lr() const { return base_lr_; }
  virtual double lr_at(int64_t epoch) const = 0;
  /// What goes with the rate, such as the momentum.
  virtual void set_others(int64_t /*epoch*/) {}
  Optimizer& optimizer() { return optimizer_; }

 private:
  Optimizer& optimizer_;
  double base_lr_;
  double last_lr_;
  int64_t epoch_ = 0;
};

/// The rate times gamma every `step_size` epochs.
class EBB_API StepLR final : public LRScheduler {
 public:
  /// Throws ValueError unless step_size >= 1.
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);

 private:
  double lr_at(int64_t epoch) const override;
  int64_t step_size_;
  double gamma_;
};

/// From the rate to eta_min along half a cosine in `t_max` epochs, and back again after that.
class EBB_API CosineAnnealingLR final : public LRScheduler {
 public:
  /// Throws ValueError unless t_max >= 1.
  CosineAnnealingLR(Optimizer& optimizer, int64_t t_max, double eta_min = 0.0);

 private:
  double lr_at(int64_t epoch) const override;
  int64_t t_max_;
  double eta_min_;
};

/// The rate times a function of the epoch.
class EBB_API LambdaLR final : public LRScheduler {
 public:
  /// Throws ValueError for no function.
  LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor);

 private:
  double lr_at(int64_t epoch) const override;
  std::function<double(int64_t)> factor_;
};

enum class Anneal : uint8_t { cosine, linear };

struct OneCycleOptions {
  double max_lr = 0.1;
  int64_t total_steps = 1;
  double pct_start = 0.3;  // share of the steps in which the rate rises
  Anneal anneal = Anneal::cosine;
  bool cycle_momentum = true;  // lead momentum, or beta1, the other way
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25.0;       // max_lr over the first rate
  double final_div_factor = 1e4;  // the first rate over the last
  bool three_phase = false;       // fall as slowly as the rise, only then below the start
};

/// Up to max_lr and far below the start again, once; its epochs are steps.
class EBB_API OneCycleLR final : public LRScheduler {
 public:
  /// Throws ValueError for options out of range, and if the optimizer has no momentum to cycle.
  OneCycleLR(Optimizer& optimizer, const OneCycleOptions& options);

 private:
  double lr_at(int64_t step) const override;
  void set_others(int64_t step) override;
  /// Where `step` is on the way from one of three levels to another: low, high, end.
  double level_at(int64_t step, double low, double high, double end) const;

  OneCycleOptions options_;
};

}  // namespace ebb::optim
