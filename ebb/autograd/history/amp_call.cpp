// ebb/autograd/history/amp_call.cpp -- choosing the dtype of a call, casting, and keeping casts of
// leaves for the length of a block.
#include "ebb/autograd/history/amp_call.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {

/// Casts of leaves that require a gradient: a weight that several ops read is cast once, until it
/// is written to, shows other memory or gets another accumulator. Threads of one block share it.
class CastCache {
 public:
  Tensor get(const Tensor& leaf, DType dtype) {
    if (Tensor kept = find(leaf, dtype); kept.defined()) return kept;
    const Tensor made = ebb::cast(leaf, dtype);
    Entry entry{leaf, detached(leaf), made, leaf.version(), leaf.impl()->producer};
    const std::lock_guard lock(mutex_);  // released before what was there dies, with hooks perhaps
    std::swap(casts_[leaf.impl()], entry);
    return made;
  }
  void clear() noexcept {
    std::unordered_map<const TensorImpl*, Entry> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(casts_);
  }

 private:
  Tensor find(const Tensor& leaf, DType dtype) {
    const std::lock_guard lock(mutex_);
    const auto found = casts_.find(leaf.impl());
    if (found == casts_.end()) return {};
    const Entry& entry = found->second;
    const bool lacks_history = is_grad_enabled() && !entry.cast.requires_grad();
    const bool serves = entry.holds_for(leaf) && entry.cast.dtype() == dtype && !lacks_history;
    return serves ? entry.cast : Tensor();
  }

  struct Entry {
    Tensor leaf;  // held, so that no other tensor gets its address
    Tensor seen;  // its memory when it was cast, held for the same reason
    Tensor cast;
    uint32_t version = 0;
    const Producer* producer = nullptr;  // where the gradient of the cast goes; held by its history

    bool holds_for(const Tensor& now) const {
      const TensorImpl& old = *seen.impl();
      const TensorImpl& impl = *now.impl();
      return version == now.version() && producer == impl.producer && old.data == impl.data &&
             old.storage == impl.storage && equal(seen.strides(), now.strides());
    }
  };
  std::mutex mutex_;
  std::unordered_map<const TensorImpl*, Entry> casts_;
};

namespace {

thread_local AutocastFramePtr innermost;

/// Whether autocast has to do with an operand at all: float64 and complex numbers stay.
bool is_cast(const Tensor& operand) {
  return operand.defined() && is_floating(operand.dtype()) && !is_complex(operand.dtype()) &&
         operand.layout() == Layout::strided;
}

bool is_lower(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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
  if (!is_lower(options.dtype)) {
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

AutocastFrame::AutocastFrame(const AutocastFrame* outer, const AutocastOptions& options)
    : keeps_casts_(options.cache_enabled) {
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

const AutocastFramePtr& current_autocast() { return innermost; }
void install_autocast(AutocastFramePtr frame) noexcept { innermost = std::move(frame); }

AutocastFramePtr enter_autocast(const AutocastOptions& options) {
  auto frame = std::make_shared<const AutocastFrame>(innermost.get(), options);
  thread_state.modes = (thread_state.modes & ~gate::kAutocast) | frame->bits();
  return std::exchange(innermost, std::move(frame));
}

void leave_autocast(AutocastFramePtr outer) noexcept {
  if (outer == nullptr && innermost != nullptr) innermost->shared_cache()->clear();
  const uint32_t bits = outer != nullptr ? outer->bits() : 0;
  thread_state.modes = (thread_state.modes & ~gate::kAutocast) | bits;
  innermost = std::move(outer);
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

void AmpCall::decide(const char* op, AmpList list) {
  if (settings_ == nullptr) return;
  switch (settings_->list_of(op, list)) {
    case AmpList::none: return;
    case AmpList::lower: target_ = settings_->dtype; break;
    case AmpList::float32: target_ = DType::float32; break;
    case AmpList::widest: target_ = widest_; break;
    case AmpList::first: target_ = first_; break;
  }
  is_casting_ = target_ != DType::float64;  // such a call is the op's own affair
}

Tensor AmpCall::cast(const Tensor& operand) const {
  if (!is_casting_ || !is_cast(operand) || operand.dtype() == DType::float64 ||
      operand.dtype() == target_ || !frame_->of(operand.device().type).is_enabled) {
    return operand;
  }
  const bool is_weight = is_lower(target_) && operand.requires_grad() && is_leaf(operand) &&
                         (operand.impl()->flags & TensorImpl::kView) == 0 &&
                         (operand.gate_bits() & gate::kTangent) == 0;
  // What a checkpoint computes again must be the ops of its first call, whatever was cast before.
  constexpr uint32_t kUncached = gate::kInference | gate::kSavedHooks | gate::kObserved;
  const bool may_keep = is_weight && (thread_state.modes & kUncached) == 0;
  CastCache* const cache = may_keep ? frame_->cache() : nullptr;
  return cache != nullptr ? cache->get(operand, target_) : ebb::cast(operand, target_);
}

std::vector<Tensor> AmpCall::cast(std::span<const Tensor> operands) const {
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
  if (frame != nullptr && frame->of(device).level != AmpLevel::O0) return frame->of(device).dtype;
  return device == DeviceType::cuda ? DType::float16 : DType::bfloat16;
}

bool is_autocast_cache_enabled() {
  const autograd::AutocastFramePtr& frame = autograd::current_autocast();
  return frame == nullptr || frame->cache() != nullptr;
}

}  // namespace ebb
