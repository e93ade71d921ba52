// ebb/optim/sgd.cpp -- the step of SGD.
#include "ebb/optim/sgd.h"

#include "ebb/autograd/grad_mode.h"
#include "ebb/core/error.h"
#include "ebb/core/location.h"
#include "ebb/kernels/cpu/optim.h"
#include "ebb/ops/impl/copy.h"

namespace ebb::optim {
namespace {

void check_options(const SGDOptions& options) {
  check_option(options.lr >= 0, "SGD", "lr >= 0", options.lr);
  check_option(options.momentum >= 0, "SGD", "momentum >= 0", options.momentum);
  check_option(options.weight_decay >= 0, "SGD", "weight_decay >= 0", options.weight_decay);
  const bool is_plain = options.momentum > 0 && options.dampening == 0;
  if (options.nesterov && !is_plain) {
    throw ValueError(str("SGD: nesterov needs momentum > 0 and dampening 0, got ", options.momentum,
                         " and ", options.dampening));
  }
}

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& options)
    : Optimizer("SGD", std::move(parameters)),
      options_(options),
      buffers_(this->parameters().size()) {
  check_options(options);
}

void SGD::set_options(const SGDOptions& options) {
  check_options(options);
  const std::lock_guard lock(mutex_);
  options_ = options;
}

void SGD::set_momentum_buffer(size_t index, const Tensor& buffer) {
  check_state("a momentum buffer", index, buffer);
  const std::lock_guard lock(mutex_);
  const NoGradGuard no_grad;
  buffers_.at(index) = buffer.defined() ? ops::impl::clone(buffer) : buffer;
}

void SGD::step() {
  const LocationScope location(current_location(__builtin_return_address(0)));
  const std::lock_guard lock(mutex_);
  const NoGradGuard no_grad;
  const std::vector<Target> found = targets();
  std::vector<bool> is_first(found.size(), false);
  for (size_t i = 0; i < found.size() && options_.momentum != 0; ++i) {
    Tensor& buffer = buffers_[found[i].index];
    is_first[i] = !buffer.defined();
    // Zeros, so that a failure further down leaves a buffer that a later step can start from.
    if (is_first[i]) buffer = zeros_for(found[i].index);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const kernels::cpu::SgdArgs args{.lr = options_.lr,
                                     .momentum = options_.momentum,
                                     .dampening = options_.dampening,
                                     .weight_decay = options_.weight_decay,
                                     .nesterov = options_.nesterov,
                                     .maximize = options_.maximize,
                                     .first_step = is_first[i]};
    const Tensor buffer = options_.momentum != 0 ? buffers_[found[i].index] : Tensor();
    update(found[i], {&buffer, 1}, [&](std::span<const kernels::TensorView> views) {
      kernels::cpu::sgd_step(args, views[0], views[1], views[2]);
    });
  }
}

}  // namespace ebb::optim
