// ebb/autograd/history/casts/amp_call.cpp -- choosing the dtype of a call, and casting.
#include "ebb/autograd/history/casts/amp_call.h"

#include <algorithm>
#include <utility>

#include "ebb/autograd/history/casts/cast_cache.h"
#include "ebb/autograd/history/casts/remade_cast.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/amp_cast.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/log.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb::autograd {

namespace {

thread_local AutocastFramePtr innermost_frame;

/// Whether autocast has to do with an operand at all: float64 and complex numbers stay.
bool is_cast(const Tensor& operand) {
  return operand.defined() && is_floating(operand.dtype()) && !is_complex(operand.dtype()) &&
         operand.layout() == Layout::strided;
}

bool is_lower(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[gnu::noinline, gnu::cold]] void log_cast(const char* op, const Tensor& operand, DType target) {
  EBB_LOG_AT(LogPart::amp, kLogsCasts, op, " casts ", describe_tensor(*operand.impl()), " to ",
             target);
}

void check_ops(const char* list, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_known = std::any_of(amp_rows().begin(), amp_rows().end(),
                                      [&](const AmpRow& row) { return row.op == name; });
    if (!is_known) {
      throw ValueError(std::string("autocast: '") + list +
                       "' needs names of ops that autocast casts for, got '" + name +
                       "'\nhint: ebb.amp.lists() has them all");
    }
  }
}

AutocastSettings settings_of(const AutocastOptions& options) {
  // At O3 everything may be computed in float64: what other dtypes are compared with.
  const bool is_reference = options.dtype == DType::float64 && options.level == AmpLevel::O3;
  if (!is_lower(options.dtype) && !is_reference) {
    throw DTypeError("autocast: 'dtype' needs bfloat16 or float16, got " +
                     std::string(name_of(options.dtype)));
  }
  check_ops("custom_white_list", options.custom_white_list);
  check_ops("custom_black_list", options.custom_black_list);
  for (const std::string& name : options.custom_white_list) {
    if (holds(options.custom_black_list, name)) {
      throw ValueError("autocast: needs an op on one list, got '" + name + "' on both");
    }
  }
  return {options.enabled && options.level != AmpLevel::O0, options.dtype, options.level,
          options.custom_white_list, options.custom_black_list};
}

}  // namespace

AmpList AutocastSettings::list_of(std::string_view op, AmpList list) const {
  if (holds(white, op)) return AmpList::lower;
  if (holds(black, op)) return AmpList::float32;
  const bool takes_all = level == AmpLevel::O3 && list == AmpList::float32;
  const bool takes_most = level >= AmpLevel::O2 && list == AmpList::widest;
  return takes_all || takes_most ? AmpList::lower : list;
}

AutocastFrame::AutocastFrame(const AutocastFrame* outer, const AutocastOptions& options,
                             bool is_block)
    : keeps_casts_(options.cache_enabled),
      is_in_block_(is_block || (outer != nullptr && outer->is_in_block_)) {
  if (outer != nullptr) devices_ = outer->devices_;
  cache_ = outer != nullptr ? outer->cache_ : std::make_shared<CastCache>();
  devices_[static_cast<size_t>(options.device_type)] = settings_of(options);
}

uint32_t AutocastFrame::bits() const {
  uint32_t bits = 0;
  for (const AutocastSettings& one : devices_) {
    if (!one.is_enabled) continue;
    bits |= gate::kAmp;
    const bool has_lists = !one.white.empty() || !one.black.empty();
    if (has_lists || one.level >= AmpLevel::O2) bits |= gate::kAmpAll;
  }
  return bits;
}

const AutocastFramePtr& current_autocast() { return innermost_frame; }
void install_autocast(AutocastFramePtr frame) noexcept { innermost_frame = std::move(frame); }

namespace {

AutocastFramePtr enter_frame(const AutocastOptions& options, bool is_block) {
  auto frame = std::make_shared<const AutocastFrame>(innermost_frame.get(), options, is_block);
  thread_state.modes = (thread_state.modes & ~gate::kAutocast) | frame->bits();
  return std::exchange(innermost_frame, std::move(frame));
}

}  // namespace

AutocastFramePtr enter_autocast(const AutocastOptions& options) {
  return enter_frame(options, true);
}
void change_autocast(const AutocastOptions& options) { enter_frame(options, false); }

void leave_autocast(AutocastFramePtr outer) noexcept {
  const bool is_outermost = outer == nullptr || !outer->is_in_block();
  if (is_outermost && innermost_frame != nullptr) innermost_frame->shared_cache()->clear();
  const uint32_t bits = outer != nullptr ? outer->bits() : 0;
  thread_state.modes = (thread_state.modes & ~gate::kAutocast) | bits;
  innermost_frame = std::move(outer);
}

void AmpCall::look_at(const Tensor& operand) {
  if (frame_ == nullptr || !is_cast(operand)) return;
  const AutocastSettings& settings = frame_->of(operand.device().type);
  if (!settings.is_enabled) return;
  if (settings_ == nullptr) {
    settings_ = &settings;
    first_ = widest_ = operand.dtype();
  }
  widest_ = promote(widest_, operand.dtype());
}

void AmpCall::look_at(std::span<const Tensor> operands) {
  for (const Tensor& operand : operands) look_at(operand);
}

void AmpCall::decide(AmpList list) {
  if (settings_ == nullptr) return;
  switch (settings_->list_of(op_, list)) {
    case AmpList::none: return;
    case AmpList::lower: target_ = settings_->dtype; break;
    case AmpList::float32: target_ = DType::float32; break;
    case AmpList::widest: target_ = widest_; break;
    case AmpList::first: target_ = first_; break;
  }
  // A call that has float64 operands is the op's own affair.
  is_casting_ = target_ != DType::float64 || settings_->dtype == DType::float64;
}

bool AmpCall::needs_cast(const Tensor& operand) const {
  return is_casting_ && is_cast(operand) && operand.dtype() != DType::float64 &&
         operand.dtype() != target_ && frame_->of(operand.device().type).is_enabled;
}

Tensor AmpCall::cast(const Tensor& operand) {
  if (!needs_cast(operand)) return operand;
  if ((thread_state.modes & gate::kLog) != 0) log_cast(op_, operand, target_);
  // What a checkpoint computes again must be the ops of its first call, whatever was cast before.
  constexpr uint32_t kUncached = gate::kInference | gate::kSavedHooks | gate::kObserved;
  const bool may_keep = is_lower(target_) && operand.requires_grad() &&
                        (operand.gate_bits() & gate::kTangent) == 0 &&
                        (thread_state.modes & kUncached) == 0;
  CastCache* const cache = may_keep ? frame_->cache() : nullptr;
  if (cache == nullptr) return ebb::amp_cast(operand, target_);
  if (is_leaf(operand)) {
    if ((operand.impl()->flags & TensorImpl::kView) != 0) return ebb::amp_cast(operand, target_);
    const auto [made, is_kept] = cache->get(operand, target_);
    if (!is_kept) remade_.push_back({made, operand});
    return made;
  }
  const Tensor made = ebb::amp_cast(operand, target_);
  const bool is_worth = made.nbytes() >= kLeastRemadeBytes && is_kept_by_producer(operand);
  if (is_worth) remade_.push_back({made, operand});
  return made;
}

void AmpCall::settle_one(const Tensor& out) const {
  for (const Remade& remade : remade_) keep_source(out, remade.cast, remade.source);
}

std::vector<Tensor> AmpCall::cast(std::span<const Tensor> operands) {
  std::vector<Tensor> all;
  all.reserve(operands.size());
  for (const Tensor& operand : operands) all.push_back(cast(operand));
  return all;
}

}  // namespace ebb::autograd

namespace ebb {

bool is_autocast_enabled(DeviceType device) {
  const autograd::AutocastFramePtr& frame = autograd::current_autocast();
  return (thread_state.modes & gate::kAmp) != 0 && frame != nullptr && frame->of(device).is_enabled;
}

DType autocast_dtype(DeviceType device) {
  const autograd::AutocastFramePtr& frame = autograd::current_autocast();
  if (frame != nullptr && frame->of(device).level != AmpLevel::O0) {
    const DType dtype = frame->of(device).dtype;
    if (autograd::is_lower(dtype)) return dtype;
  }
  return device == DeviceType::cuda ? DType::float16 : DType::bfloat16;
}

bool is_autocast_cache_enabled() {
  const autograd::AutocastFramePtr& frame = autograd::current_autocast();
  return frame == nullptr || frame->cache() != nullptr;
}

}  // namespace ebb
