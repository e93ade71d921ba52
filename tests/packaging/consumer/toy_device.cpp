// tests/packaging/consumer/toy_device.cpp -- a plug-in outside the tree: one device, at once.
//
// Its memory is the host's, its one stream does everything in the call, so events have nothing to
// mark. Kernels: mul, add and fill, for contiguous float32.
#include <cstdlib>
#include <cstring>

#include "ebb/core/device/device_plugin.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/registry.h"

namespace {

using ebb::NativeEvent;
using ebb::NativeStream;
using ebb::kernels::Context;
using ebb::kernels::TensorView;

char the_stream;

int device_count(int* count) {
  *count = 1;
  return 0;
}
const char* last_error() { return "the host's memory is full"; }

int allocate(int, size_t bytes, NativeStream, void** memory) {
  *memory = std::aligned_alloc(64, (bytes + 63) & ~size_t{63});
  return *memory == nullptr ? 1 : 0;
}
int deallocate(int, void* memory, size_t, NativeStream) {
  std::free(memory);
  return 0;
}

int copy(int, void* to, const void* from, size_t bytes, NativeStream) {
  std::memcpy(to, from, bytes);
  return 0;
}
int copy_on_device(int, void* to, int, const void* from, size_t bytes, NativeStream) {
  std::memmove(to, from, bytes);
  return 0;
}
int fill_bytes(int, void* memory, unsigned char value, size_t bytes, NativeStream) {
  std::memset(memory, value, bytes);
  return 0;
}

int give_stream(int, NativeStream* stream) {
  *stream = &the_stream;
  return 0;
}
int wait_for_stream(int, NativeStream) { return 0; }
int query_stream(int, NativeStream, int* is_done) {
  *is_done = 1;
  return 0;
}

int create_event(int, NativeEvent* event) {
  *event = &the_stream;
  return 0;
}
int on_event(int, NativeEvent) { return 0; }
int on_event_and_stream(int, void*, void*) { return 0; }

constexpr ebb::DevicePlugin kPlugin = {
    .abi_version = ebb::kDeviceAbiVersion,
    .struct_size = sizeof(ebb::DevicePlugin),
    .name = "toy",
    .device_count = device_count,
    .last_error = last_error,
    .allocate = allocate,
    .deallocate = deallocate,
    .memory_info = nullptr,
    .copy_to_device = copy,
    .copy_to_host = copy,
    .copy_on_device = copy_on_device,
    .fill = fill_bytes,
    .default_stream = give_stream,
    .create_stream = give_stream,
    .synchronize_stream = wait_for_stream,
    .query_stream = query_stream,
    .create_event = create_event,
    .destroy_event = on_event,
    .record_event = on_event_and_stream,
    .wait_event = on_event_and_stream,
    .query_event = query_stream,
    .synchronize_event = on_event,
};

/// Element `index` of a contiguous view, or the only one of a number.
float at(const TensorView& view, int64_t index) {
  return static_cast<const float*>(view.data)[view.numel == 1 ? 0 : index];
}

template <typename Operation>
void run_binary(const TensorView& input, const TensorView& other, const TensorView& out) {
  for (int64_t index = 0; index < out.numel; ++index) {
    static_cast<float*>(out.data)[index] = Operation()(at(input, index), at(other, index));
  }
}

struct Multiply {
  float operator()(float a, float b) const { return a * b; }
};
struct Add {
  float operator()(float a, float b) const { return a + b; }
};

template <typename Operation>
void binary_kernel(const Context&, const TensorView& input, const TensorView& other,
                   const TensorView& out) {
  run_binary<Operation>(input, other, out);
}

void fill_kernel(const Context&, const ebb::Scalar& value, const TensorView& out) {
  for (int64_t index = 0; index < out.numel; ++index) {
    static_cast<float*>(out.data)[index] = static_cast<float>(value.to_double());
  }
}

template <typename Function>
void add_kernel(const char* name, uint32_t signature, ebb::DeviceType type, Function* function) {
  ebb::ops::register_kernel(name, signature,
                            {ebb::backend_of(type), ebb::Layout::strided, ebb::DType::float32},
                            reinterpret_cast<void (*)()>(function));
}

}  // namespace

extern "C" const ebb::DevicePlugin* ebb_device_plugin() { return &kPlugin; }

extern "C" void ebb_device_loaded(ebb::DeviceType type) {
  namespace signature = ebb::kernels::signature;
  add_kernel("mul", signature::mul, type, binary_kernel<Multiply>);
  add_kernel("add", signature::add, type, binary_kernel<Add>);
  add_kernel("fill", signature::fill, type, fill_kernel);
}
