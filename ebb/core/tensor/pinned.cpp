// ebb/core/tensor/pinned.cpp -- storages over pinned memory, and who may be copied late.
#include "ebb/core/tensor/pinned.h"

#include <algorithm>
#include <memory>

#include "ebb/core/base/error.h"
#include "ebb/core/base/log.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/stream.h"
#include "ebb/core/tensor/memory_format.h"

namespace ebb {
namespace {

thread_local bool copies_late = false;

/// What a storage over pinned memory keeps.
struct PinnedBlock {
  void* memory;
  Device device;
};

void release_block(void* context) noexcept {
  const std::unique_ptr<PinnedBlock> block(static_cast<PinnedBlock*>(context));
  const DeviceExtras& extras = *detail::find_extras(block->device.type);
  try {
    check_device_call(extras.release_pinned(block->memory), "release_pinned", block->device);
  } catch (const std::exception& error) {
    // Nobody can catch it here, and the memory is lost either way.
    EBB_LOG_AT(LogPart::general, 1, error.what());
  }
}

const PinnedBlock* block_of(const Tensor& tensor) {
  return static_cast<const PinnedBlock*>(tensor.impl()->storage->foreign_context(release_block));
}

Storage* allocate_pinned(size_t bytes, Device device) {
  const DevicePlugin& plugin = plugin_of("pin_memory", device);
  auto block = std::make_unique<PinnedBlock>(PinnedBlock{nullptr, device});
  const int status =
      detail::find_extras(device.type)->allocate_pinned(std::max<size_t>(bytes, 1), &block->memory);
  if (status != 0 && status != kNoMemoryLeft) throw_device_failure("pin_memory", device);
  if (status != 0) {
    throw OutOfMemoryError(str("pin_memory: needs ", bytes, " bytes of pinned memory, which ",
                               to_string(device), " did not give: ", plugin.last_error()));
  }
  void* const memory = block->memory;
  return Storage::adopt(memory, bytes, release_block, block.release());
}

}  // namespace

bool can_pin(Device device) {
  const DeviceExtras* const extras =
      device_count(device.type) > 0 ? detail::find_extras(device.type) : nullptr;
  return extras != nullptr && extras->allocate_pinned != nullptr;
}

std::optional<Device> pinning_device() {
  if (can_pin(default_device())) return default_device();
  parse_device("cuda");  // whoever asks for it first loads its plug-in
  for (const DeviceType type : {DeviceType::cuda, DeviceType::custom, DeviceType::second_custom}) {
    if (can_pin({type, 0})) return Device{type, 0};
  }
  return {};
}

bool is_pinned(const Tensor& tensor, std::optional<DeviceType> type) {
  const PinnedBlock* const block = block_of(tensor);
  return block != nullptr && type.value_or(block->device.type) == block->device.type;
}

Tensor empty_pinned_like(const Tensor& tensor, Device device) {
  const Shape strides = strides_in("pin_memory", tensor, MemoryFormat::preserve);
  const auto bytes = static_cast<size_t>(tensor.numel()) * item_size(tensor.dtype());
  const Tensor whole = detail::wrap_like(tensor, tensor.dtype(), allocate_pinned(bytes, device));
  return make_alias(whole, tensor.sizes(), strides, 0);
}

LateCopyScope::LateCopyScope(bool is_late) : saved_(copies_late) { copies_late = is_late; }
LateCopyScope::~LateCopyScope() { copies_late = saved_; }

decltype(DeviceExtras::copy_from_pinned) detail::late_copy_of(const Tensor& tensor, Device device) {
  if (!copies_late || !is_pinned(tensor, device.type)) return nullptr;
  return find_extras(device.type)->copy_from_pinned;
}

}  // namespace ebb
