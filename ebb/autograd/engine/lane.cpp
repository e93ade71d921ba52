// ebb/autograd/engine/lane.cpp -- errors and ranges of nodes.
#include "ebb/autograd/engine/lane.h"

#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/hooks/foreign_error.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/location.h"

namespace ebb::autograd {

void rethrow_at(const Node& node) {
  try {
    throw;
  } catch (const AutogradError&) {
    // It says what was saved where by itself, but not who called.
    const std::string stack = explain_location(node.location());
    if (stack.find('\n') == std::string::npos) throw;
    rethrow_with("\n  in " + describe_node(node));
  } catch (...) {
    rethrow_with("\n  in " + describe_node(node));
  }
}

bool accumulate_noted(AccumulateGrad& leaf, Tensor& grad) {
  if (!leaf.grad().defined()) return leaf.try_accumulate(grad);  // it gets its first in the end
  const CallRange range("AccumulateGrad", leaf.location());
  return leaf.try_accumulate(grad);
}

}  // namespace ebb::autograd
