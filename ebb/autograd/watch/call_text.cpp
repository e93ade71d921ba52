// ebb/autograd/watch/call_text.cpp -- what is said of a call, a node and a run.
#include "ebb/autograd/watch/call_text.h"

#include "ebb/autograd/history/names/place_name.h"
#include "ebb/core/base/log.h"
#include "ebb/core/tensor/layout.h"
#include "ebb/ops/prepare.h"

namespace ebb::autograd {
namespace {

constexpr const char* kBackends[kBackendCount] = {"cpu", "cuda", "custom", "second_custom"};

std::vector<const Tensor*> addresses(std::span<const Tensor> tensors) {
  std::vector<const Tensor*> all;
  for (const Tensor& tensor : tensors) all.push_back(&tensor);
  return all;
}

std::string describe_key(const kernels::KernelKey& key) {
  return str('(', kBackends[static_cast<size_t>(key.backend)], ", ", name_of(key.layout), ", ",
             key.dtype, ')');
}

}  // namespace

std::string describe_operands(std::span<const Tensor* const> operands) {
  std::string text;
  for (const Tensor* const operand : operands) {
    if (!operand->defined()) continue;
    text += str(text.empty() ? "" : ", ", operand->dtype(), ' ', PrintShape{operand->sizes()});
  }
  return text;
}
std::string describe_operands(std::span<const Tensor> operands) {
  return describe_operands(addresses(operands));
}

kernels::KernelKey key_of_call(std::span<const Tensor* const> operands, const Tensor& result) {
  kernels::KernelKey key{backend_of(revealed(result.device())), result.layout(), result.dtype()};
  ops::Promotion promotion;
  bool any = false;
  for (const Tensor* const operand : operands) {
    if (!operand->defined()) continue;
    promotion.add(*operand->impl());
    if (!any || operand->layout() != Layout::strided) key.layout = operand->layout();
    any = true;
  }
  if (!any) return key;
  const DType common = promotion.result();
  if (is_differentiable(common) || !is_differentiable(key.dtype)) key.dtype = common;
  return key;
}

void log_call(const char* op, LocationId place, std::span<const Tensor* const> operands,
              std::span<const Tensor> results) {
  const int level = log_level(LogPart::op);
  if (level < kLogsCalls || results.empty() || !results[0].defined()) return;
  std::string text = str(op, ' ', describe_key(key_of_call(operands, results[0])));
  if (level >= kLogsOperands) {
    text += str(" of ", describe_operands(operands), " -> ", describe_operands(results));
  }
  text += str(" at ", line_of(place));
  write_log(LogPart::op, level >= kLogsOperands ? kLogsOperands : kLogsCalls, text);
}

void log_node(const Node& node, std::span<const Tensor> grads) {
  const int level = log_level(LogPart::engine);
  if (level < kLogsCalls) return;
  std::string text = str(describe_node(node), ", number ", node.sequence());
  if (level >= kLogsOperands) text += str(", of ", describe_operands(grads));
  write_log(LogPart::engine, level >= kLogsOperands ? kLogsOperands : kLogsCalls, text);
}

void log_run(const char* call, const Edge& root) {
  EBB_LOG_AT(LogPart::engine, kLogsRuns, call, ": a run from ", describe_place(root));
}

}  // namespace ebb::autograd
