// ebb/autograd/history/casts/autocast.h -- mixed precision: which dtype ops compute in, for the
// length of a block.
//
// Each row of the op table says on which list its op is (`amp`); a level says what the lists mean
// (docs/amp.md). Inside a block an op that a list names casts its operands and then runs as it
// would outside (amp_call.h). Casts are recorded, so gradients arrive in each leaf's own dtype;
// those of leaves are kept for the block. Outside all blocks none of this costs an instruction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"

namespace ebb {

/// O0: nothing is cast. O1: ops of the lists. O2: all ops but those that need float32. O3: all.
enum class AmpLevel : uint8_t { O0, O1, O2, O3 };

/// The arguments of AutocastGuard, under Python's names.
struct AutocastOptions {
  DeviceType device_type = DeviceType::cpu;
  DType dtype = DType::bfloat16;
  bool enabled = true;
  bool cache_enabled = true;
  AmpLevel level = AmpLevel::O1;
  std::vector<std::string> custom_white_list = {};  // ops that compute in `dtype` as well
  std::vector<std::string> custom_black_list = {};  // ops that compute in float32
};

namespace autograd {

/// What a row of the op table says: the op computes in the lower dtype, in float32, in the widest
/// dtype of its operands or that of the first; or as it is called.
enum class AmpList : uint8_t { none, lower, float32, widest, first };

struct AmpRow {
  std::string_view op;
  AmpList list;
};
/// The list of every op that has one, by name; generated.
EBB_API const std::vector<AmpRow>& amp_rows();

class AutocastFrame;  // amp_call.h
using AutocastFramePtr = std::shared_ptr<const AutocastFrame>;

/// The innermost block of this thread, or null. install_autocast() leaves the mode's bits alone.
EBB_API const AutocastFramePtr& current_autocast();
EBB_API void install_autocast(AutocastFramePtr frame) noexcept;

/// Enters a block; what leave_autocast() must be given. Throws ValueError for an op that no list
/// could move, DTypeError for a dtype that is not float16 or bfloat16.
EBB_API AutocastFramePtr enter_autocast(const AutocastOptions& options);
EBB_API void leave_autocast(AutocastFramePtr outer) noexcept;
/// Changes the settings until the block around is left; outside of all blocks, for good.
EBB_API void change_autocast(const AutocastOptions& options);

}  // namespace autograd

/// Mixed precision on this thread for the length of a scope:
///
///     const ebb::AutocastGuard autocast({.dtype = ebb::DType::bfloat16});
class AutocastGuard {
 public:
  explicit AutocastGuard(const AutocastOptions& options = {})
      : outer_(autograd::enter_autocast(options)) {}
  ~AutocastGuard() { autograd::leave_autocast(std::move(outer_)); }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  autograd::AutocastFramePtr outer_;
};

/// Whether ops on such devices are cast now.
EBB_API bool is_autocast_enabled(DeviceType device = DeviceType::cpu);
/// What they are cast to, or would be.
EBB_API DType autocast_dtype(DeviceType device = DeviceType::cpu);
EBB_API bool is_autocast_cache_enabled();

}  // namespace ebb
