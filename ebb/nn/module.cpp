// ebb/nn/module.cpp -- registration, listing and the state dict.
#include "ebb/nn/module.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/zero_.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"

namespace ebb::nn {
namespace {

/// A module met on the walk, with what its tensors' names begin with.
struct Visit {
  std::string prefix;
  const Module* module;
};

/// Every module below `root` and itself, parents first, in order of registration, shared ones once.
std::vector<Visit> walk(const Module& root) {
  std::vector<Visit> found;
  std::vector<Visit> stack{{"", &root}};
  std::unordered_set<const Module*> seen;
  while (!stack.empty()) {
    Visit visit = std::move(stack.back());
    stack.pop_back();
    if (!seen.insert(visit.module).second) continue;
    const Module::NamedModules& children = visit.module->children();
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      stack.push_back({visit.prefix + child->first + ".", child->second.get()});
    }
    found.push_back(std::move(visit));
  }
  return found;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void check_matches(const std::string& name, const Tensor& own, const Tensor& given) {
  if (!given.defined()) {
    throw ValueError("load_state_dict: needs a tensor for " + in_quotes(name) + ", got nothing");
  }
  if (!equal(own.sizes(), given.sizes())) {
    throw ShapeError(str("load_state_dict: needs shape ", own.shape(), " for ", in_quotes(name),
                         ", got ", given.shape()));
  }
  if (is_complex(given.dtype()) && !is_complex(own.dtype())) {
    throw DTypeError(str("load_state_dict: needs ", own.dtype(), " for ", in_quotes(name), ", got ",
                         given.dtype()));
  }
}

}  // namespace

Module::~Module() = default;

Tensor Module::forward(const Tensor&) {
  throw NotImplementedError("forward: needs a module that overrides it for one tensor");
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> tensors;
  for (auto& [name, tensor] : named_parameters()) tensors.push_back(tensor);
  return tensors;
}

NamedTensors Module::named_parameters() const { return collect(&Module::parameters_); }
NamedTensors Module::named_buffers() const { return collect(&Module::buffers_); }

NamedTensors Module::collect(NamedTensors Module::*member) const {
  NamedTensors found;
  std::unordered_set<const TensorImpl*> seen;
  for (const Visit& visit : walk(*this)) {
    for (const auto& [name, tensor] : visit.module->*member) {
      if (seen.insert(tensor.impl()).second) found.emplace_back(visit.prefix + name, tensor);
    }
  }
  return found;
}

NamedTensors Module::state_dict() const {
  NamedTensors state;
  for (const Visit& visit : walk(*this)) {
    const Module& module = *visit.module;
    for (const auto& [name, tensor] : module.parameters_) {
      state.emplace_back(visit.prefix + name, detached(tensor));
    }
    for (const auto& [name, tensor] : module.buffers_) {
      const auto& left_out = module.transient_;
      if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
      state.emplace_back(visit.prefix + name, detached(tensor));
    }
  }
  return state;
}

LoadReport Module::load_state_dict(const NamedTensors& state, bool strict) {
  const NamedTensors own = state_dict();
  std::unordered_map<std::string, const Tensor*> given;
  for (const auto& [name, tensor] : state) given[name] = &tensor;
  LoadReport report;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      report.missing_keys.push_back(name);
    } else {
      check_matches(name, tensor, *found->second);
    }
  }
  std::unordered_set<std::string> names;
  for (const auto& entry : own) names.insert(entry.first);
  for (const auto& entry : state) {
    if (names.count(entry.first) == 0) report.unexpected_keys.push_back(entry.first);
  }
  if (strict && !(report.missing_keys.empty() && report.unexpected_keys.empty())) {
    throw ValueError("load_state_dict: needs the module's own names, got missing [" +
                     joined(report.missing_keys) + "] and unexpected [" +
                     joined(report.unexpected_keys) + "]");
  }
  const NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found != given.end()) copy_(tensor, *found->second);
  }
  return report;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> found;
  for (Visit& visit : walk(*this)) {
    std::string name = visit.prefix.substr(0, visit.prefix.size() - !visit.prefix.empty());
    found.emplace_back(std::move(name), const_cast<Module*>(visit.module));
  }
  return found;
}

void Module::train(bool on) {
  for (const auto& [name, module] : named_modules()) module->is_training_ = on;
}

void Module::apply(const std::function<void(Module&)>& change) {
  const auto modules = named_modules();
  for (auto entry = modules.rbegin(); entry != modules.rend(); ++entry) change(*entry->second);
}

void Module::to(DType dtype) {
  if (!is_differentiable(dtype)) {
    throw DTypeError(str("to: needs a floating or complex dtype, got ", dtype));
  }
  const NoGradGuard no_grad;
  NamedTensors tensors = named_parameters();
  for (auto& entry : named_buffers()) tensors.push_back(std::move(entry));
  for (const auto& [name, tensor] : tensors) {
    if (!is_differentiable(tensor.dtype()) || tensor.dtype() == dtype) continue;
    const Tensor grad = grad_of(tensor);
    set_grad(tensor, {});
    set_data(tensor, cast(detached(tensor), dtype));
    if (grad.defined()) set_grad(tensor, cast(detached(grad), dtype));
  }
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& parameter : parameters()) {
    const Tensor grad = grad_of(parameter);
    if (!grad.defined()) continue;
    const Tensor values = set_to_none ? Tensor() : detached(grad);
    if (values.defined()) zero_(values);
    set_grad(parameter, values);
  }
}

void Module::requires_grad_(bool value) {
  for (const Tensor& parameter : parameters()) ebb::requires_grad_(parameter, value);
}

void Module::check_name(const char* op, const std::string& name) const {
  const auto has_name = [&](const auto& entry) { return entry.first == name; };
  const bool is_taken = std::any_of(parameters_.begin(), parameters_.end(), has_name) ||
                        std::any_of(buffers_.begin(), buffers_.end(), has_name) ||
                        std::any_of(children_.begin(), children_.end(), has_name);
  if (name.empty() || is_taken || name.find('.') != std::string::npos) {
    throw ValueError(str(op, ": needs a new name without dots, got ", in_quotes(name)));
  }
}

Tensor Module::register_parameter(std::string name, const Tensor& tensor) {
  check_name("register_parameter", name);
  if (!tensor.defined()) {
    throw ValueError("register_parameter: needs a tensor, got nothing for " + in_quotes(name));
  }
  ebb::requires_grad_(tensor);
  autograd::set_module_path(tensor, name);
  parameters_.emplace_back(std::move(name), tensor);
  return tensor;
}

Tensor Module::register_buffer(std::string name, const Tensor& tensor, bool persistent) {
  check_name("register_buffer", name);
  if (!tensor.defined()) {
    throw ValueError("register_buffer: needs a tensor, got nothing for " + in_quotes(name));
  }
  if (!persistent) transient_.push_back(name);
  autograd::set_module_path(tensor, name);
  buffers_.emplace_back(std::move(name), tensor);
  return tensor;
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name("register_module", name);
  if (module == nullptr) {
    throw ValueError("register_module: needs a module, got nothing for " + in_quotes(name));
  }
  for (const Visit& visit : walk(*module)) {
    if (visit.module != this) continue;
    throw ValueError("register_module: needs a module that does not hold this one, got one for " +
                     in_quotes(name) + " that does");
  }
  // Errors call a tensor by its path from the outermost module that it was registered below.
  for (const NamedTensors& tensors : {module->named_parameters(), module->named_buffers()}) {
    for (const auto& [below, tensor] : tensors) {
      autograd::set_module_path(tensor, str(name, '.', below));
    }
  }
  children_.emplace_back(std::move(name), std::move(module));
}

}  // namespace ebb::nn
