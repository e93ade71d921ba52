// ebb/optim/optimizer.cpp -- what every optimizer's step shares.
#include "ebb/optim/optimizer.h"

#include <array>
#include <cmath>
#include <unordered_set>

#include "ebb/autograd/grad_mode.h"
#include "ebb/autograd/variable.h"
#include "ebb/core/error.h"
#include "ebb/ops/impl/copy.h"
#include "ebb/ops/prepare.h"

namespace ebb::optim {
namespace {

/// Elements per piece: large enough that handing one to a thread costs little beside it.
constexpr int64_t kGrain = 1 << 15;
constexpr size_t kMaxOperands = 5;

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

/// A flat view over `count` numbers from `begin` on; complex numbers count as pairs of real ones.
kernels::TensorView piece_of(const Tensor& tensor, int64_t begin, const int64_t* count) {
  static constexpr int64_t kUnitStride = 1;
  kernels::TensorView view;
  if (!tensor.defined()) return view;
  view.dtype = real_type_of(tensor.dtype());
  view.data =
      static_cast<char*>(tensor.data_ptr()) + static_cast<size_t>(begin) * item_size(view.dtype);
  view.sizes = count;
  view.strides = &kUnitStride;
  view.numel = *count;
  view.ndim = 1;
  return view;
}

}  // namespace

Optimizer::Optimizer(const char* name, std::vector<Tensor> parameters)
    : name_(name), parameters_(std::move(parameters)) {
  std::unordered_set<const TensorImpl*> seen;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    check_parameter(name, i, parameters_[i]);
    if (!seen.insert(parameters_[i].impl()).second) {
      throw ValueError(str(name, ": needs each parameter once, got parameter ", i, " again"));
    }
  }
}

Optimizer::~Optimizer() = default;

void Optimizer::zero_grad(bool set_to_none) {
  const std::lock_guard lock(mutex_);
  const NoGradGuard no_grad;
  for (const Tensor& parameter : parameters_) {
    const Tensor grad = grad_of(parameter);
    if (!grad.defined()) continue;
    if (set_to_none) {
      set_grad(parameter, {});
    } else {
      // A gradient with history would keep its graph, and must not be written.
      const Tensor values = detached(grad);
      ops::impl::zero_(values);
      set_grad(parameter, values);
    }
  }
}

std::vector<Optimizer::Target> Optimizer::targets() const {
  std::vector<Target> found;
  found.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor grad = grad_of(parameters_[i]);
    if (!grad.defined()) continue;
    ops::check_writable(name_, parameters_[i]);
    check_state("a gradient", i, grad);
    found.push_back({i, ops::impl::contiguous(parameters_[i]), ops::impl::contiguous(grad)});
  }
  return found;
}

Tensor Optimizer::zeros_for(size_t index) const {
  const Tensor zeros = ebb::empty(parameters_[index].sizes(), parameters_[index].dtype(),
                                  parameters_[index].device());
  ops::impl::zero_(zeros);
  return zeros;
}

void Optimizer::check_state(const char* what, size_t index, const Tensor& state) const {
  if (!state.defined()) return;
  const Tensor& parameter = parameters_[index];
  if (!equal(state.sizes(), parameter.sizes())) {
    throw ShapeError(str(name_, ": needs ", what, " of shape ", parameter.shape(),
                         " for parameter ", index, ", got ", state.shape()));
  }
  if (state.dtype() != parameter.dtype()) {
    throw DTypeError(str(name_, ": needs ", what, " of ", parameter.dtype(), " for parameter ",
                         index, ", got ", state.dtype()));
  }
}

void Optimizer::update(const Target& target, std::span<const Tensor> states,
                       FunctionRef<void(std::span<const kernels::TensorView>)> kernel) const {
  const int64_t per_element = is_complex(target.values.dtype()) ? 2 : 1;
  parallel_for(target.values.numel() * per_element, kGrain, [&](int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    std::array<kernels::TensorView, kMaxOperands> views;
    views[0] = piece_of(target.values, begin, &count);
    views[1] = piece_of(target.grad, begin, &count);
    for (size_t i = 0; i < states.size(); ++i) views[2 + i] = piece_of(states[i], begin, &count);
    kernel(std::span(views).first(2 + states.size()));
  });
  const Tensor& parameter = parameters_[target.index];
  if (parameter.is_same(target.values)) {
    ops::note_write(name_, parameter);
  } else {
    ops::impl::copy_(parameter, target.values);
  }
}

void check_option(bool is_valid, const char* op, const char* what, double value) {
  if (!is_valid) throw ValueError(str(op, ": needs ", what, ", got ", value));
}

}  // namespace ebb::optim
