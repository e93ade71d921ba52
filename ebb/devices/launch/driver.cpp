// ebb/devices/launch/driver.cpp -- which back end this library is, and what its failures become.
#include "ebb/devices/launch/driver.h"

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"
#include "ebb/core/base/str.h"
#include "ebb/core/device/stream.h"
#include "ebb/devices/launch/base_device.h"
#include "ebb/devices/launch/failure.h"
#include "ebb/devices/launch/fork.h"

namespace ebb::devices {

Driver* detail::current_driver = nullptr;
bool detail::is_asked_to_wait = false;

namespace {

[[noreturn]] void throw_failure(const char* op, Device device, const Failure& failure) {
  throw DeviceError(str(op, ": ", to_string(device), " failed: ", failure.what()));
}

}  // namespace

void set_driver(Driver& driver) {
  detail::current_driver = &driver;
  detail::is_asked_to_wait = flag_in_environment("device_sync", false);
}

std::unique_ptr<Kernel> Driver::compile(int device, const char* op, const std::string& source,
                                        const char* entry) {
  try {
    refuse_fork();
    return make_kernel(device_at(device), op, source, entry);
  } catch (const Failure& failure) {
    throw_failure(op, {type_, static_cast<int8_t>(device)}, failure);
  }
}

void Driver::launch(const kernels::Context& context, const char* op, Kernel& kernel, Grid grid,
                    std::span<const Argument> arguments) {
  try {
    refuse_fork();
    queue_kernel(native_stream(context.stream), kernel, grid, arguments);
  } catch (const Failure& failure) {
    throw_failure(op, context.device, failure);
  }
}

void Driver::multiply(const kernels::Context& context, const char* op, const Product& product) {
  try {
    refuse_fork();
    queue_product(native_stream(context.stream), product);
  } catch (const Failure& failure) {
    throw_failure(op, context.device, failure);
  }
}
void Driver::queue_product(NativeStream /*stream*/, const Product& /*product*/) {
  throw Failure("no library computes products here");
}

bool Driver::convolve(const kernels::Context& context, const char* op,
                      const Convolution& convolution) {
  try {
    refuse_fork();
    return queue_convolution(native_stream(context.stream), convolution);
  } catch (const Failure& failure) {
    throw_failure(op, context.device, failure);
  }
}

bool Driver::attend(const kernels::Context& context, const char* op, const Attention& attention) {
  try {
    refuse_fork();
    return queue_attention(native_stream(context.stream), attention);
  } catch (const Failure& failure) {
    throw_failure(op, context.device, failure);
  }
}

void* Driver::borrow(const kernels::Context& context, size_t bytes) {
  try {
    refuse_fork();
    MemoryPool& memory = *device_at(context.device.index).memory;
    return memory.take(bytes, native_stream(context.stream));
  } catch (const NoMemory& failure) {
    throw OutOfMemoryError(str("allocate: needs ", bytes, " bytes for a kernel, which ",
                               to_string(context.device), " did not give: ", failure.what()));
  } catch (const Failure& failure) {
    throw_failure("allocate", context.device, failure);
  }
}

void Driver::give_back(const kernels::Context& context, void* memory, size_t bytes) noexcept {
  MemoryPool& pool = *device_at(context.device.index).memory;
  pool.give(memory, bytes, native_stream(context.stream));
}

}  // namespace ebb::devices
