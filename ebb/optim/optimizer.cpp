// ebb/optim/optimizer.cpp -- the step that all optimizers share.
#include "ebb/optim/optimizer.h"

#include <complex>
#include <unordered_set>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/location.h"
#include "ebb/core/runtime/parallel_arrays.h"
#include "ebb/core/runtime/profile.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/ops/copy.h"
#include "ebb/ops/creation.h"
#include "ebb/ops/fallback.h"
#include "ebb/ops/impl/copy.h"
#include "ebb/ops/index.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/sparse.h"
#include "ebb/optim/master_weight.h"

namespace ebb::optim {
namespace {

/// Elements per piece: large enough that handing one to a thread costs little beside it.
constexpr int64_t kGrain = 1 << 15;

void check_parameter(const char* op, size_t index, const Tensor& parameter) {
  if (!parameter.defined()) {
    throw ValueError(str(op, ": needs tensors, got nothing as parameter ", index));
  }
  if (!is_differentiable(parameter.dtype())) {
    throw DTypeError(str(op, ": needs floating or complex parameters, got ", parameter.dtype(),
                         " as parameter ", index));
  }
  if (!is_leaf(parameter)) {
    throw ValueError(str(op, ": needs leaf tensors, got the result of an operation as parameter ",
                         index, "\nhint: optimize the tensor that it was computed from"));
  }
}

}  // namespace

/// A parameter with its gradient, both as contiguous memory.
struct Optimizer::Target {
  // All tensors but `made` are memory of the CPU, of a parameter on a device copies; or, if the
  // step is queued there, memory of the device.
  size_t index = 0;  // in parameters_
  Tensor values;     // the parameter, or a packed copy if it is a strided view
  Tensor grad;
  Tensor rows;  // if the gradient stores some only: `values`, `grad` and `state` are theirs
  std::array<Tensor, kMaxStates> state;
  std::array<Tensor, kMaxStates> made;  // fresh state, kept apart until all of it is made
  bool is_queued = false;
  StepFactors factors;
  StepOperands operands;
};

Optimizer::Optimizer(const char* name, std::vector<Tensor> parameters,
                     std::span<const char* const> state_names)
    : name_(name),
      parameters_(std::move(parameters)),
      state_names_(state_names.begin(), state_names.end()) {
  state_names_.push_back(kMasterWeight);
  std::unordered_set<const TensorImpl*> seen;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    check_parameter(name, i, parameters_[i]);
    if (!seen.insert(parameters_[i].impl()).second) {
      throw ValueError(str(name, ": needs each parameter once, got parameter ", i, " again"));
    }
  }
  states_.resize(parameters_.size());
}

Optimizer::~Optimizer() = default;

void Optimizer::zero_grad(bool set_to_none) {
  const CallRange range(name_, "zero_grad",
                        is_profiling() ? current_location(__builtin_return_address(0)) : 0);
  const std::lock_guard lock(mutex_);
  const NoGradGuard no_grad;
  for (const Tensor& parameter : parameters_) {
    const Tensor grad = grad_of(parameter);
    if (!grad.defined()) continue;
    if (set_to_none || !is_strided(grad)) {
      set_grad(parameter, {});  // zeros of a sparse gradient store nothing
    } else {
      // A gradient with history would keep its graph, and must not be written.
      const Tensor values = detached(grad);
      ops::impl::zero_(values);
      set_grad(parameter, values);
    }
  }
}

Tensor Optimizer::usable(const Tensor& grad) const {
  if (is_strided(grad)) return grad;
  throw NotImplementedError(str(name_, ": needs strided gradients, got a ", name_of(grad.layout()),
                                " one of shape ", PrintShape{grad.sizes()},
                                "\nhint: SparseAdam, Adagrad and SGD take sparse ones"));
}

void Optimizer::step() {
  const LocationScope location(current_location(__builtin_return_address(0)));
  const CallRange range(name_, "step", thread_state.location);
  const std::lock_guard lock(mutex_);
  const NoGradGuard no_grad;
  std::vector<Target> targets = collect_targets();
  make_missing_state(targets);
  const std::vector<int64_t> ends = lay_out(targets);
  parallel_over_arrays(ends, kGrain, [&](int64_t, size_t i, int64_t begin, int64_t end) {
    update_part(targets[i], begin, end);
  });
  for (const Target& target : targets) {
    if (target.is_queued) queue_on_device(target);
    finish(target);
  }
}

/// Whether the parameter's device has the step. The gradient's rows, if it stores some only, and
/// complex numbers are stepped on the CPU.
bool Optimizer::steps_in_place(const Tensor& parameter, const Tensor& grad) const {
  if (!ops::is_elsewhere(parameter) || !is_strided(grad)) return false;
  const kernels::StepTable& table = kernels::step_table(backend_of(parameter.device()));
  return has_step(table) && table.takes(parameter.device(), parameter.dtype()) &&
         grad.device() == parameter.device();
}

std::vector<Optimizer::Target> Optimizer::collect_targets() const {
  std::vector<Target> targets;
  targets.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor found = grad_of(parameters_[i]);
    if (!found.defined()) continue;
    ops::check_writable(name_, parameters_[i]);
    const Tensor grad = usable(found);
    check_shape("a gradient", i, grad);
    Target& target = targets.emplace_back();
    target.index = i;
    if (is_meta(parameters_[i])) {
      target.values = parameters_[i];
      continue;
    }
    if (steps_in_place(parameters_[i], grad)) {
      target.is_queued = true;
      target.values = ops::impl::contiguous(parameters_[i]);
      take_gradient(target, ops::impl::contiguous(grad));
      continue;
    }
    // Other rules are kernels of the CPU alone: what is elsewhere comes here and goes back.
    if (ops::is_elsewhere(parameters_[i])) {
      const ops::CpuFallback fallback(name_, grad.dtype(), parameters_[i].device());
    }
    if (!is_strided(grad)) {
      target.rows = ops::rows(grad);
      target.values = host_copy(ops::index_select(parameters_[i], 0, target.rows));
      take_gradient(target, ops::impl::contiguous(host_copy(ops::coalesced_values(grad))));
      continue;
    }
    target.values = ops::impl::contiguous(host_copy(parameters_[i]));
    take_gradient(target, ops::impl::contiguous(host_copy(grad)));
  }
  return targets;
}

/// Gives a target its gradient in a dtype that steps take; a leaf's grad_dtype may be another.
void Optimizer::take_gradient(Target& target, const Tensor& grad) const {
  const bool is_half = can_have_master(target.values);
  const DType dtype = target.values.dtype();
  const bool fits = grad.dtype() == dtype || (is_half && grad.dtype() == DType::float32);
  target.grad = fits ? grad : ops::impl::cast(grad, is_half ? DType::float32 : dtype);
  target.operands.has_wide_grad = target.grad.dtype() != dtype;
}

void Optimizer::make_missing_state(std::vector<Target>& targets) const {
  for (Target& target : targets) {
    const State& state = states_[target.index];
    for (size_t which = 0; which < state_names_.size(); ++which) {
      if (!keeps_state(target.index, which)) continue;
      const bool is_there = state.tensors[which].defined();
      target.made[which] =
          is_there ? fitting_state(target.index, which) : fresh_state(target.index, which);
      if (!is_there && which != master_index()) target.factors.is_first = true;
    }
  }
}

bool Optimizer::keeps_state(size_t index, size_t which) const {
  if (which != master_index()) return needs_state(which);
  return has_master_weights_ && can_have_master(parameters_[index]);
}

Tensor Optimizer::fresh_state(size_t index, size_t which) const {
  const Tensor& parameter = parameters_[index];
  if (which == master_index()) return made_master(parameter);
  const bool has_master = keeps_state(index, master_index());
  const DType dtype = has_master ? DType::float32 : parameter.dtype();
  const double value = initial_value(which);
  // Steps see complex numbers as pairs of real ones, so both parts begin with the value.
  const Scalar filling = is_complex(dtype) ? Scalar(std::complex<double>(value, value)) : value;
  return ops::full(parameter.sizes(), filling, dtype, parameter.device());
}

/// State whose parameter may since have changed its dtype, its device or, under a master, its
/// values; undefined if it fits as it is.
Tensor Optimizer::fitting_state(size_t index, size_t which) const {
  const Tensor& parameter = parameters_[index];
  const State& state = states_[index];
  const Tensor& kept = state.tensors[which];
  const bool has_master = keeps_state(index, master_index());
  const DType dtype = has_master ? DType::float32 : parameter.dtype();
  if (kept.dtype() != dtype || kept.device() != parameter.device()) {
    return ops::to_device(ops::impl::as_dtype(host_copy(kept), dtype), parameter.device());
  }
  const bool is_master = which == master_index();
  const bool is_current = state.seen.defined() && shows_same(state.seen, parameter) &&
                          state.version == parameter.version();
  return is_master && !is_current && !is_meta(parameter) ? mended_master(kept, parameter)
                                                         : Tensor();
}

namespace {

template <class Target>
void* memory_of(const Target& target, const Tensor& tensor) {
  return target.is_queued ? tensor.impl()->data : tensor.host_data();
}

}  // namespace

std::vector<int64_t> Optimizer::lay_out(std::vector<Target>& targets) {
  std::vector<int64_t> ends;
  ends.reserve(targets.size());
  int64_t elements = 0;
  int64_t last_steps = 0;
  StepFactors last;
  for (Target& target : targets) {
    State& state = states_[target.index];
    ++state.steps;
    if (state.steps != last_steps) last = factors(state.steps);
    last_steps = state.steps;
    const bool is_first = target.factors.is_first;
    target.factors = last;
    target.factors.is_first = is_first;
    const bool is_computed = !is_meta(target.values);  // else there is a state, but no numbers
    const DType dtype = target.values.dtype();
    target.operands.dtype = real_type_of(dtype);  // complex numbers count as pairs of real ones
    if (is_computed) {
      target.operands.count = target.values.numel() * (is_complex(dtype) ? 2 : 1);
      target.operands.data[0] = memory_of(target, target.values);
      target.operands.data[1] = memory_of(target, target.grad);
    }
    for (size_t which = 0; which < state_names_.size(); ++which) {
      Tensor& tensor = state.tensors[which];
      if (target.made[which].defined()) tensor = std::move(target.made[which]);
      if (!is_computed || !tensor.defined() || !keeps_state(target.index, which)) continue;
      target.state[which] = state_of(target, tensor);
      if (which == master_index()) {
        target.operands.master = static_cast<float*>(memory_of(target, target.state[which]));
      } else {
        target.operands.data[2 + which] = memory_of(target, target.state[which]);
      }
    }
    if (!target.is_queued) elements += target.operands.count;  // else nothing is left to do here
    ends.push_back(elements);
  }
  return ends;
}

/// What the kernel gets of a tensor of the state.
Tensor Optimizer::state_of(const Target& target, const Tensor& whole) const {
  if (target.is_queued) return ops::impl::contiguous(whole);
  return host_copy(target.rows.defined() ? ops::index_select(whole, 0, target.rows) : whole);
}

void Optimizer::update_part(const Target& target, int64_t begin, int64_t end) const {
  update(target.factors, target.operands.part(begin, end));
}

/// One launch for the parameter, on the current stream of its device.
void Optimizer::queue_on_device(const Target& target) const {
  note_use(target.values);
  note_use(target.grad);
  for (const Tensor& state : target.state) {
    if (state.defined()) note_use(state);
  }
  const Device device = target.values.device();
  queue_step(kernels::step_table(backend_of(device)), ops::context_on(device), target.factors,
             target.operands);
}

/// Brings rows back to where they came from.
void Optimizer::finish_rows(const Target& target) const {
  const auto put = [&](const Tensor& whole, const Tensor& rows) {
    ops::index_copy_(whole, 0, target.rows, ops::to_device(rows, whole.device()));
  };
  put(parameters_[target.index], target.values);
  const State& state = states_[target.index];
  for (size_t which = 0; which < state_names_.size(); ++which) {
    if (target.state[which].defined()) put(state.tensors[which], target.state[which]);
  }
}

/// Brings what was stepped in copies back, and logs the write.
void Optimizer::finish(const Target& target) {
  const Tensor& parameter = parameters_[target.index];
  State& state = states_[target.index];
  if (target.rows.defined()) {
    finish_rows(target);
  } else {
    if (parameter.is_same(target.values)) {
      ops::note_write(name_, parameter);
    } else {
      ops::impl::copy_(parameter, target.values);
    }
    for (size_t which = 0; which < state_names_.size(); ++which) {
      const Tensor& stepped = target.state[which];
      if (stepped.defined() && !stepped.is_same(state.tensors[which])) {
        write_back(stepped, state.tensors[which]);
      }
    }
  }
  if (target.operands.master == nullptr) return;
  if (!state.seen.defined() || !shows_same(state.seen, parameter)) state.seen = detached(parameter);
  state.version = parameter.version();
}

bool Optimizer::has_master_weights() const {
  const std::lock_guard lock(mutex_);
  return has_master_weights_;
}

void Optimizer::set_master_weights(bool wanted) {
  const std::lock_guard lock(mutex_);
  if (has_master_weights_ == wanted) return;
  has_master_weights_ = wanted;
  if (wanted) return;  // made by the next step
  for (State& state : states_) {
    state.tensors[master_index()] = {};
    state.seen = {};
  }
}

void Optimizer::check_shape(const char* what, size_t index, const Tensor& tensor) const {
  const Tensor& parameter = parameters_[index];
  if (equal(tensor.sizes(), parameter.sizes())) return;
  throw ShapeError(str(name_, ": needs ", what, " of shape ", parameter.shape(), " for parameter ",
                       index, ", got ", tensor.shape()));
}

}  // namespace ebb::optim
