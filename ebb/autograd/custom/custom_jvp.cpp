// ebb/autograd/custom/custom_jvp.cpp -- noting tangents, and checking what a custom jvp() returned.
#include "ebb/autograd/custom/custom_jvp.h"

#include <algorithm>

#include "ebb/autograd/custom/same_tensor.h"
#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

void check_tangent(const char* name, size_t index, const Tensor& tangent, const Tensor& out) {
  if (!tangent.defined()) return;
  if (!out.defined() || !is_differentiable(out.dtype())) {
    throw ValueError(str(name, ".jvp: tangent ", index,
                         " must be None, since that output has no derivative, got a Tensor"));
  }
  if (!equal(tangent.sizes(), out.sizes())) {
    throw ShapeError(str(name, ".jvp: tangent ", index, " must have its output's shape ",
                         PrintShape{out.sizes()}, ", got ", PrintShape{tangent.sizes()}));
  }
}

}  // namespace

bool carries_tangent(std::span<const Tensor> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& input) {
    const bool may_carry = input.defined() && (input.impl()->flags & gate::kTangent) != 0;
    return may_carry && is_dual(input);
  });
}

CustomJvp::CustomJvp(std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs) {
    std::vector<ForwardLevelPtr> levels;
    if (input.defined()) add_levels(input, levels);
    Noted& noted = before_.emplace_back();
    // Copies: the tangent of a tensor with views is written in place.
    for (ForwardLevelPtr& level : levels)
      noted.emplace_back(level, clone(tangent_of(input, *level)));
  }
}

std::vector<Tensor> CustomJvp::tangents_on(DualCall& dual, const CustomCall& call) const {
  std::vector<Tensor> tangents = dual.tangents(call.inputs);
  for (size_t index = 0; index < tangents.size(); ++index) {
    if (!contains(call.marks.dirty, call.inputs[index])) continue;
    tangents[index] = {};
    for (const auto& [level, tangent] : before_[index]) {
      if (level == dual.level()) tangents[index] = tangent;
    }
  }
  return tangents;
}

void CustomJvp::propagate(const CustomCall& call, const Rule& rule) const {
  const auto is_dirty = [&](const Tensor& out) { return contains(call.marks.dirty, out); };
  const Tensor* first = nullptr;
  for (const Tensor& out : call.outputs) {
    if (!out.defined()) continue;
    if (!is_dirty(out)) drop_tangents(out, 0);
    if (first == nullptr && is_differentiable(out.dtype())) first = &out;
  }
  if (first == nullptr) return;
  DualCall dual(call.inputs, *first, DualResult::fresh);
  while (dual.next()) {
    const std::vector<Tensor> results = rule(dual, tangents_on(dual, call));
    if (results.size() != call.outputs.size()) {
      throw ValueError(str(call.name, ".jvp: must return one tangent per output, ",
                           call.outputs.size(), ", got ", results.size()));
    }
    for (size_t index = 0; index < results.size(); ++index) {
      const Tensor& out = call.outputs[index];
      check_tangent(call.name, index, results[index], out);
      const bool is_written = out.defined() && is_dirty(out);
      if (is_written) dual.set_written(out, results[index]);
      if (!is_written && results[index].defined()) dual.set(out, results[index]);
    }
  }
}

}  // namespace ebb::autograd
