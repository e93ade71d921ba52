// ebb/devices/common/pointwise/optim.cpp -- specialises and launches steps of optimizers.
//
// Options that change the formula are part of the source, numbers are arguments: rounded once from
// float64, as on the CPU.
#include "ebb/devices/common/pointwise/optim.h"

#include <initializer_list>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::StepFactors;
using kernels::StepOperands;

namespace {

struct Flag {
  const char* name;
  bool is_set;
};

struct Step {
  int number;  // STEP in optim.k
  const char* op;
  bool maximize;
  double decay;  // added to the gradient
  std::initializer_list<Flag> flags;
  std::initializer_list<double> numbers;
};

constexpr size_t kNumbers = 7;

void run(const Step& step, const Context& context, const StepOperands& operands) {
  if (operands.count == 0) return;
  const bool has_master = operands.master != nullptr;
  const bool is_half = ebb::is_half(operands.dtype);
  KernelCall call(Family::optim, step.op, context, compute_of(operands.dtype),
                  operands.count <= int64_t{1} << 30);
  call.set("STEP", step.number, 3).set("MAXIMIZES", step.maximize, 1);
  call.set("HAS_DECAY", step.decay != 0, 1);
  for (const Flag& flag : step.flags) call.set(flag.name, flag.is_set, 1);
  call.set("P", operands.dtype);
  call.set("G", is_half && operands.has_wide_grad ? DType::float32 : operands.dtype);
  call.set("S", has_master ? DType::float32 : operands.dtype);
  call.set("WITH_MASTER", has_master, 1);
  if (has_master) call.set_text("HAS_MASTER", "");
  for (void* const memory : operands.data) call.add(memory);
  call.add(operands.master).add_index(operands.count).add_number(step.decay);
  for (const double number : step.numbers) call.add_number(number);
  for (size_t i = step.numbers.size(); i < kNumbers; ++i) call.add_number(0.0);
  call.run({optim_k}, operands.count, call.traits().group_size);
}

bool takes(Device device, DType dtype) {
  return is_floating(dtype) &&
         (dtype != DType::float64 || driver().traits(device.index).has_float64);
}

void sgd(const Context& context, const kernels::SGDOptions& options, const StepFactors& factors,
         const StepOperands& operands) {
  run({0,
       "sgd_step",
       options.maximize,
       options.weight_decay,
       {{"HAS_MOMENTUM", options.momentum != 0},
        {"IS_FIRST", factors.is_first},
        {"IS_NESTEROV", options.nesterov}},
       {options.lr, options.momentum, 1 - options.dampening}},
      context, operands);
}

void adam(const Context& context, const kernels::AdamOptions& options, kernels::WeightDecay decay,
          const StepFactors& factors, const StepOperands& operands) {
  const bool is_decoupled = decay == kernels::WeightDecay::decoupled;
  run({1,
       "adam_step",
       options.maximize,
       is_decoupled ? 0.0 : options.weight_decay,
       {{"IS_DECOUPLED", is_decoupled && options.weight_decay != 0},
        {"HAS_LARGEST", options.amsgrad}},
       {factors.step_size, 1 - options.beta1, options.beta2, 1 - options.beta2, factors.root_scale,
        options.eps, 1 - options.lr * options.weight_decay}},
      context, operands);
}

void rmsprop(const Context& context, const kernels::RMSpropOptions& options, const StepFactors&,
             const StepOperands& operands) {
  run({2,
       "rmsprop_step",
       options.maximize,
       options.weight_decay,
       {{"HAS_MOMENTUM", options.momentum != 0}, {"IS_CENTERED", options.centered}},
       {options.lr, options.alpha, 1 - options.alpha, options.eps, options.momentum}},
      context, operands);
}

void adagrad(const Context& context, const kernels::AdagradOptions& options,
             const StepFactors& factors, const StepOperands& operands) {
  run({3,
       "adagrad_step",
       options.maximize,
       options.weight_decay,
       {},
       {factors.step_size, options.eps}},
      context, operands);
}

void unscale(const Context& context, DType dtype, void* data, int64_t count, double factor,
             void* found) {
  if (count == 0) return;
  KernelCall call(Family::unscale, "unscale", context, compute_of(dtype),
                  count <= int64_t{1} << 30);
  call.set("G", dtype).add(data).add(found).add_index(count).add_number(factor);
  call.run({unscale_k}, count, call.traits().group_size);
}

}  // namespace

kernels::StepTable step_functions() {
  return {.takes = takes,
          .sgd = sgd,
          .adam = adam,
          .rmsprop = rmsprop,
          .adagrad = adagrad,
          .unscale = unscale};
}

}  // namespace ebb::devices
