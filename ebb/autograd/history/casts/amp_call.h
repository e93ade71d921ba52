// ebb/autograd/history/casts/amp_call.h -- one op's call under autocast: the dtype it computes in,
// and its operands in that dtype.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ebb/autograd/history/casts/autocast.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

class CastCache;

/// What one block says of one kind of device.
struct AutocastSettings {
  bool is_enabled = false;
  DType dtype = DType::bfloat16;
  AmpLevel level = AmpLevel::O0;
  std::vector<std::string> white, black;  // names of ops

  AmpList list_of(std::string_view op, AmpList list) const;
};

/// One block, or a change of settings in or outside of one: settings of all devices, those around
/// it where it says nothing.
class AutocastFrame {
 public:
  AutocastFrame(const AutocastFrame* outer, const AutocastOptions& options, bool is_block);

  const AutocastSettings& of(DeviceType device) const {
    return devices_[static_cast<size_t>(device)];
  }
  /// The bits of thread_state.modes that the block sets.
  uint32_t bits() const;
  /// Null in a block that keeps no casts.
  CastCache* cache() const { return keeps_casts_ ? cache_.get() : nullptr; }
  const std::shared_ptr<CastCache>& shared_cache() const { return cache_; }
  bool is_in_block() const { return is_in_block_; }

 private:
  std::array<AutocastSettings, kDeviceTypeCount> devices_;
  std::shared_ptr<CastCache> cache_;  // of the outermost frame
  bool keeps_casts_;
  bool is_in_block_;
};

/// Looks at the operands of a call, then casts them and makes it. Meanwhile autocast is off.
class EBB_API AmpCall {
 public:
  template <typename... Operands>
  AmpCall(const char* op, AmpList list, const Operands&... operands)
      : plain_(0, gate::kAutocast), op_(op), frame_(current_autocast().get()) {
    (look_at(operands), ...);
    decide(list);
  }

  /// The operand in the dtype of the call; itself if nothing is to be cast.
  Tensor cast(const Tensor& operand);
  std::vector<Tensor> cast(std::span<const Tensor> operands);

  /// The results of the call. From here on their node saves no cast that it can make again.
  template <typename Results>
  Results settle(Results results) const {
    if (remade_.empty()) return results;
    if constexpr (std::is_same_v<Results, Tensor>) {
      settle_one(results);
    } else if constexpr (std::is_same_v<Results, std::vector<Tensor>>) {
      if (!results.empty()) settle_one(results[0]);
    } else {
      settle_one(std::get<0>(results));
    }
    return results;
  }

 private:
  struct Remade {
    Tensor cast, source;
  };
  void settle_one(const Tensor& out) const;
  bool needs_cast(const Tensor& operand) const;
  void look_at(const Tensor& operand);
  void look_at(std::span<const Tensor> operands);
  void decide(AmpList list);

  ModeScope plain_;
  const char* const op_;
  const AutocastFrame* frame_;
  const AutocastSettings* settings_ = nullptr;  // of the first operand that can be cast
  DType first_ = DType::float32, widest_ = DType::float32, target_ = DType::float32;
  bool is_casting_ = false;
  std::vector<Remade> remade_;  // casts whose source is kept anyway
};

}  // namespace ebb::autograd
