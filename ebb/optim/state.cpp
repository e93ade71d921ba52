// ebb/optim/state.cpp -- an optimizer's state, read and replaced by name.
#include <algorithm>
#include <charconv>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/optim/master_weight.h"
#include "ebb/optim/optimizer.h"

namespace ebb::optim {
namespace {

constexpr std::string_view kSteps = "step";

Tensor tensor_of(int64_t value) {
  const Tensor tensor = ebb::empty(Shape{}, DType::int64);
  *tensor.data<int64_t>() = value;
  return tensor;
}

/// "3.exp_avg" as 3 and "exp_avg".
std::pair<size_t, std::string_view> split_name(const char* op, std::string_view name) {
  size_t index = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, index);
  if (error != std::errc() || rest == end || *rest != '.') {
    throw ValueError(str(op, ": needs names such as '0.step', got ", in_quotes(name)));
  }
  return {index, {rest + 1, static_cast<size_t>(end - rest - 1)}};
}

int64_t steps_of(const char* op, std::string_view name, const Tensor& tensor) {
  if (!tensor.defined() || tensor.dtype() != DType::int64 || tensor.numel() != 1) {
    throw ValueError(str(op, ": needs one int64 as ", in_quotes(name), ", got something else"));
  }
  return *tensor.data<int64_t>();
}

}  // namespace

size_t Optimizer::which_state(std::string_view state_name) const {
  std::string known;
  for (size_t which = 0; which < state_names_.size(); ++which) {
    if (state_names_[which] == state_name) return which;
    known += str(which == 0 ? "" : ", ", state_names_[which]);
  }
  throw ValueError(str(name_, ": needs state among ", known, ", got ", in_quotes(state_name)));
}

int64_t Optimizer::steps(size_t index) const {
  const std::lock_guard lock(mutex_);
  if (index >= states_.size()) {
    throw IndexError(str(name_, ": needs a parameter below ", states_.size(), ", got ", index));
  }
  return states_[index].steps;
}

Tensor Optimizer::state(size_t index, std::string_view state_name) const {
  const size_t which = which_state(state_name);
  const std::lock_guard lock(mutex_);
  if (index >= states_.size()) {
    throw IndexError(str(name_, ": needs a parameter below ", states_.size(), ", got ", index));
  }
  return states_[index].tensors[which];
}

/// State of half types and float32 stand for one another: the next step takes it as it needs it.
void Optimizer::check_state_dtype(size_t index, std::string_view state_name, DType dtype) const {
  const auto takes_any = [](DType one) { return one == DType::float32 || is_half(one); };
  const DType wanted = parameters_[index].dtype();
  if (dtype == wanted || (takes_any(dtype) && takes_any(wanted))) return;
  throw DTypeError(str(name_, ": needs state ", in_quotes(state_name), " of ", wanted,
                       " for parameter ", index, ", got ", dtype));
}

Optimizer::State Optimizer::checked_state(size_t index, int64_t steps,
                                          const NamedTensors& tensors) const {
  if (index >= states_.size()) {
    throw IndexError(str(name_, ": needs a parameter below ", states_.size(), ", got ", index));
  }
  if (steps < 0) throw ValueError(str(name_, ": needs step >= 0, got ", steps));
  const NoGradGuard no_grad;
  const bool has_masters = has_master_weights();
  const Tensor& parameter = parameters_[index];
  State state{.steps = steps, .tensors = {}, .seen = {}, .version = 0};
  for (const auto& [state_name, tensor] : tensors) {
    const size_t which = which_state(state_name);
    const bool is_unused = which == master_index() && !(has_masters && can_have_master(parameter));
    if (!tensor.defined() || is_unused) continue;
    check_shape(str("state ", in_quotes(state_name)).c_str(), index, tensor);
    check_state_dtype(index, state_name, tensor.dtype());
    state.tensors[which] = ops::impl::clone(tensor);
  }
  return state;
}

void Optimizer::set_state(size_t index, int64_t steps, const NamedTensors& tensors) {
  State state = checked_state(index, steps, tensors);
  const std::lock_guard lock(mutex_);
  states_[index] = std::move(state);
}

NamedTensors Optimizer::state_dict() const {
  const std::lock_guard lock(mutex_);
  NamedTensors found;
  for (size_t index = 0; index < states_.size(); ++index) {
    const State& state = states_[index];
    const bool is_fresh = std::none_of(state.tensors.begin(), state.tensors.end(),
                                       [](const Tensor& tensor) { return tensor.defined(); });
    if (is_fresh && state.steps == 0) continue;
    found.emplace_back(str(index, ".", kSteps), tensor_of(state.steps));
    for (size_t which = 0; which < state_names_.size(); ++which) {
      if (!state.tensors[which].defined()) continue;
      found.emplace_back(str(index, ".", state_names_[which]), state.tensors[which]);
    }
  }
  return found;
}

void Optimizer::load_state_dict(const NamedTensors& state) {
  std::vector<int64_t> steps(parameters_.size(), 0);
  std::vector<NamedTensors> tensors(parameters_.size());
  for (const auto& [name, tensor] : state) {
    const auto [index, state_name] = split_name("load_state_dict", name);
    if (index >= parameters_.size()) {
      throw ValueError(str("load_state_dict: needs state of ", parameters_.size(),
                           " parameters, got ", in_quotes(name)));
    }
    if (state_name == kSteps) {
      steps[index] = steps_of("load_state_dict", name, tensor);
    } else {
      tensors[index].emplace_back(state_name, tensor);
    }
  }
  std::vector<State> loaded;
  for (size_t index = 0; index < parameters_.size(); ++index) {
    loaded.push_back(checked_state(index, steps[index], tensors[index]));
  }
  const std::lock_guard lock(mutex_);
  states_ = std::move(loaded);
}

}  // namespace ebb::optim
