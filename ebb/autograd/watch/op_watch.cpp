// ebb/autograd/watch/op_watch.cpp -- stacks, ranges and checks around one op.
#include "ebb/autograd/watch/op_watch.h"

#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/watch/call_text.h"

namespace ebb::autograd {

bool is_finite_number(const Scalar& value) {
  if (value.kind() != Kind::complex) return std::isfinite(value.to_double());
  const std::complex<double> number = value.to_complex();
  return std::isfinite(number.real()) && std::isfinite(number.imag());
}

OpWatch::OpWatch(const char* op, uint32_t bits, void* return_address,
                 std::span<const OpArgument> arguments)
    : op_(op),
      bits_(bits),
      makes_results_(return_address != nullptr),
      location_((bits & gate::kAnomaly) != 0 ? current_stack(return_address)
                                             : current_location(return_address)),
      scope_(location_),
      arguments_(arguments) {
  if ((bits & gate::kObserved) != 0) {
    observation_.emplace(OpCall{.name = op,
                                .location = location_,
                                .arguments = arguments,
                                .writes = !makes_results_,
                                .has_tangents = (bits & gate::kTangent) != 0});
  }
  // What is supplied takes no time, and is no run of the op.
  if ((bits & gate::kProfiler) != 0 && !is_supplied()) range_.emplace(op, location_);
}
OpWatch::~OpWatch() = default;

void OpWatch::before_write(const Tensor& self) {
  if ((bits_ & gate::kCutTrace) != 0 && self.defined()) before_ = origin_of(self);
}

/// `operands` are those that must be defined; of a call that makes results, all are known.
std::vector<const Tensor*> OpWatch::all_operands(std::span<const NamedTensor> operands) const {
  std::vector<const Tensor*> all;
  if (arguments_.empty()) {
    for (const NamedTensor& operand : operands) all.push_back(operand.tensor);
  }
  for (const OpArgument& argument : arguments_) {
    if (const auto* const one = std::get_if<const Tensor*>(&argument)) all.push_back(*one);
    const auto* const list = std::get_if<std::span<const Tensor>>(&argument);
    if (list == nullptr) continue;
    for (const Tensor& one : *list) all.push_back(&one);
  }
  return all;
}

void OpWatch::trace(const Tensor& result, std::span<const NamedTensor> operands) const {
  note_result(
      {.op = op_, .bits = bits_, .place = location_, .before = before_, .writes = !makes_results_},
      result, all_operands(operands));
}

void OpWatch::see(std::span<const Tensor> results, std::span<const NamedTensor> operands,
                  bool scalars_are_finite) {
  if (observation_) observation_->finish(results);
  if ((bits_ & gate::kLog) != 0 || range_) {
    const std::vector<const Tensor*> all = all_operands(operands);
    if ((bits_ & gate::kLog) != 0) log_call(op_, location_, all, results);
    if (range_ && !results.empty() && results[0].defined()) note_call(results[0], all);
  }
  for (const Tensor& result : results) check(result, operands, scalars_are_finite);
}

void OpWatch::check(const Tensor& result, std::span<const NamedTensor> operands,
                    bool scalars_are_finite) {
  if (range_) note(result);
  const bool retains = (bits_ & gate::kRetainGrads) != 0 && result.defined();
  if (retains && result.requires_grad()) retain_grad(result);
  if ((bits_ & gate::kCutTrace) != 0) trace(result, operands);
  if ((bits_ & gate::kNanCheck) == 0) return;
  check_result(op_, result, operands, scalars_are_finite, bits_, location_);
}

void OpWatch::note_call(const Tensor& result, std::span<const Tensor* const> operands) {
  // What writes makes its node before it computes: its phases cannot be told apart.
  if (makes_results_) range_->add_phases(result.impl()->producer);
  if (range_->wants_operands()) range_->set_operands(describe_operands(operands));
}

void OpWatch::note(const Tensor& result) {
  if (!result.defined()) return;
  const TensorImpl& impl = *result.impl();
  if (impl.producer != nullptr) {
    range_->set_sequence(static_cast<Node*>(impl.producer)->sequence());
  }
  const bool is_new = makes_results_ && (impl.flags & TensorImpl::kView) == 0;
  if (is_new) range_->add_bytes(static_cast<int64_t>(impl.storage->bytes()));
}

}  // namespace ebb::autograd
