// ebb/optim/adam.cpp -- the step that Adam and AdamW share.
#include "ebb/optim/adam.h"

#include <array>

#include "ebb/autograd/grad_mode.h"
#include "ebb/core/error.h"
#include "ebb/core/location.h"
#include "ebb/kernels/cpu/optim.h"
#include "ebb/ops/impl/copy.h"

namespace ebb::optim {
namespace {

void check_options(const char* op, const AdamOptions& options) {
  check_option(options.lr >= 0, op, "lr >= 0", options.lr);
  check_option(options.beta1 >= 0 && options.beta1 < 1, op, "0 <= beta1 < 1", options.beta1);
  check_option(options.beta2 >= 0 && options.beta2 < 1, op, "0 <= beta2 < 1", options.beta2);
  check_option(options.eps >= 0, op, "eps >= 0", options.eps);
  check_option(options.weight_decay >= 0, op, "weight_decay >= 0", options.weight_decay);
}

Tensor copied(const Tensor& tensor) { return tensor.defined() ? ops::impl::clone(tensor) : tensor; }

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options)
    : Adam("Adam", WeightDecay::coupled, std::move(parameters), options) {}

Adam::Adam(const char* name, WeightDecay decay, std::vector<Tensor> parameters,
           const AdamOptions& options)
    : Optimizer(name, std::move(parameters)),
      op_(name),
      decay_(decay),
      options_(options),
      states_(this->parameters().size()) {
  check_options(op_, options);
}

void Adam::set_options(const AdamOptions& options) {
  check_options(op_, options);
  const std::lock_guard lock(mutex_);
  options_ = options;
}

void Adam::set_state(size_t index, const AdamState& state) {
  check_state("an exp_avg", index, state.exp_avg);
  check_state("an exp_avg_sq", index, state.exp_avg_sq);
  check_state("a max_exp_avg_sq", index, state.max_exp_avg_sq);
  check_option(state.step >= 0, op_, "step >= 0", static_cast<double>(state.step));
  const std::lock_guard lock(mutex_);
  const NoGradGuard no_grad;
  states_.at(index) = {state.step, copied(state.exp_avg), copied(state.exp_avg_sq),
                       copied(state.max_exp_avg_sq)};
}

void Adam::prepare_state(size_t index) {
  AdamState& state = states_[index];
  if (!state.exp_avg.defined()) state.exp_avg = zeros_for(index);
  if (!state.exp_avg_sq.defined()) state.exp_avg_sq = zeros_for(index);
  if (options_.amsgrad && !state.max_exp_avg_sq.defined()) state.max_exp_avg_sq = zeros_for(index);
}

void Adam::step() {
  const LocationScope location(current_location(__builtin_return_address(0)));
  const std::lock_guard lock(mutex_);
  const NoGradGuard no_grad;
  const std::vector<Target> found = targets();
  for (const Target& target : found) prepare_state(target.index);
  for (const Target& target : found) {
    AdamState& state = states_[target.index];
    const kernels::cpu::AdamWArgs args{.lr = options_.lr,
                                       .beta1 = options_.beta1,
                                       .beta2 = options_.beta2,
                                       .eps = options_.eps,
                                       .weight_decay = options_.weight_decay,
                                       .step = ++state.step,
                                       .maximize = options_.maximize,
                                       .decoupled = decay_ == WeightDecay::decoupled};
    const std::array<Tensor, 3> moments{state.exp_avg, state.exp_avg_sq,
                                        options_.amsgrad ? state.max_exp_avg_sq : Tensor()};
    update(target, moments, [&](std::span<const kernels::TensorView> views) {
      kernels::cpu::adamw_step(args, views[0], views[1], views[2], views[3], views[4]);
    });
  }
}

}  // namespace ebb::optim
