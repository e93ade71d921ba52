// ebb/core/device/meta_device.cpp -- addresses for tensors without elements; nothing else happens.
#include "ebb/core/device/meta_device.h"

#include <cstdint>

#include "ebb/core/device/device_plugin.h"

namespace ebb {

constinit std::atomic<uint8_t> detail::meta_type{0xff};
void (*detail::prepare_meta)(Backend backend) = nullptr;

namespace {

// No processor has memory there: the upper bits of an address must be alike.
constexpr uint64_t kFirstAddress = uint64_t{1} << 62;
constexpr uint64_t kAddresses = uint64_t{1} << 61;  // then they start anew
constexpr uint64_t kMostBytes = uint64_t{1} << 60;  // of one block
constexpr uint64_t kAlignment = 64;

int allocate(int, size_t bytes, NativeStream, void** memory) {
  static std::atomic<uint64_t> taken{0};
  if (bytes > kMostBytes) return kNoMemoryLeft;
  const uint64_t room = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const uint64_t offset = taken.fetch_add(room, std::memory_order_relaxed) % kAddresses;
  *memory = reinterpret_cast<void*>(kFirstAddress + offset);
  return 0;
}

template <typename... Arguments>
int nothing(Arguments...) {
  return 0;
}

template <typename Result>
int one(Result* result) {
  *result = 1;
  return 0;
}

const char* last_error() { return "a block on meta has at most 2^60 bytes"; }

// Nobody asks for elements that are not there: copied_to() refuses first.
int copy_to_host(int, void*, const void*, size_t, NativeStream) { return 1; }

template <typename Native>
int none(int, Native* made) {
  *made = nullptr;
  return 0;
}

template <typename Native>
int is_done(int, Native, int* done) {
  return one(done);
}

constexpr DevicePlugin kMetaDevice = {
    .abi_version = kDeviceAbiVersion,
    .struct_size = sizeof(DevicePlugin),
    .name = "meta",
    .device_count = one<int>,
    .last_error = last_error,
    .allocate = allocate,
    .deallocate = nothing,
    .memory_info = nullptr,
    .copy_to_device = nothing,
    .copy_to_host = copy_to_host,
    .copy_on_device = nothing,
    .fill = nothing,
    .default_stream = none<NativeStream>,
    .create_stream = none<NativeStream>,
    .synchronize_stream = nothing,
    .query_stream = is_done<NativeStream>,
    .create_event = none<NativeEvent>,
    .destroy_event = nothing,
    .record_event = nothing,
    .wait_event = nothing,
    .query_event = is_done<NativeEvent>,
    .synchronize_event = nothing,
};

}  // namespace

DeviceType meta_device_type() {
  static const DeviceType type = [] {
    const DeviceType made = register_device(&kMetaDevice);
    if (detail::prepare_meta != nullptr) detail::prepare_meta(backend_of(made));
    detail::meta_type.store(static_cast<uint8_t>(made), std::memory_order_release);
    return made;
  }();
  return type;
}

}  // namespace ebb
