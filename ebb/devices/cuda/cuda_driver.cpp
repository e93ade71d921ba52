// ebb/devices/cuda/cuda_driver.cpp -- modules from source or from disk, and their launches.
#include "ebb/devices/cuda/cuda_driver.h"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "ebb/core/base/str.h"
#include "ebb/core/device/cudnn_switch.h"
#include "ebb/devices/cuda/compiler.h"
#include "ebb/devices/cuda/cublas.h"
#include "ebb/devices/cuda/cudnn/cudnn.h"
#include "ebb/devices/cuda/cudnn/library.h"
#include "ebb/devices/cuda/device.h"
#include "ebb/devices/launch/disk_cache.h"
#include "ebb/devices/launch/source.h"

namespace ebb::cuda {
namespace {

/// Owns a module of a device.
class Module {
 public:
  Module(const CudaDevice& device, CUmodule handle) : device_(&device), handle_(handle) {}
  ~Module() {
    if (handle_ == nullptr) return;
    const ContextScope scope(device_->context);
    api().cuModuleUnload(handle_);
  }
  Module(Module&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Module& operator=(Module&&) = delete;
  CUmodule get() const { return handle_; }

 private:
  const CudaDevice* device_;
  CUmodule handle_;
};

class CudaKernel final : public devices::Kernel {
 public:
  CudaKernel(Module module, CUfunction function)
      : module_(std::move(module)), function_(function) {}
  CUfunction handle() const { return function_; }

 private:
  Module module_;
  CUfunction function_;
};

/// Needs the device's context. Reads to the end of `image`: PTX ends with a 0, code knows its size.
std::optional<Module> load_module(const CudaDevice& device, const std::string& image) {
  CUmodule handle = nullptr;
  if (api().cuModuleLoadData(&handle, image.c_str()) != CUDA_SUCCESS) return std::nullopt;
  return Module(device, handle);
}

Module module_for(const CudaDevice& device, const char* op, const std::string& source) {
  const bool may_fuse = source.find("EBB_FUSED") != std::string::npos;
  const Target target{device.major, device.minor, may_fuse};
  const std::string text = std::string(devices::prelude_cu) + source;
  const std::string key =
      str("cuda driver ", device.driver_version, '\n', compiler_key(target), '\n', text);
  if (const std::optional<std::string> known = devices::load_program(key)) {
    if (std::optional<Module> module = load_module(device, *known)) return std::move(*module);
    devices::drop_program(key);
  }
  const std::string image = compile_program(op, text, target);
  CUmodule handle = nullptr;
  check(api().cuModuleLoadData(&handle, image.c_str()), "cuModuleLoadData");
  Module module(device, handle);
  devices::store_program(key, image);
  return module;
}

constexpr size_t kMostArguments = 64;

/// What cuLaunchKernel() takes: where each argument is.
std::array<void*, kMostArguments> places_of(std::span<const devices::Argument> arguments) {
  if (arguments.size() > kMostArguments) throw Failure("a kernel has too many arguments");
  std::array<void*, kMostArguments> places;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const devices::Argument& one = arguments[index];
    const void* const place = one.bytes == 0 ? static_cast<const void*>(&one.data) : one.data;
    places[index] = const_cast<void*>(place);
  }
  return places;
}

}  // namespace

CudaDriver::CudaDriver(DeviceType type) : Driver(type) {
  for (const auto& device : all_devices()) add_device(*device);
}

bool CudaDriver::has_products() const { return has_cublas(); }
bool CudaDriver::takes(const devices::Product& product) const { return cublas_takes(product); }
void CudaDriver::queue_product(NativeStream native, const devices::Product& product) {
  CudaStream& stream = stream_of(native);
  queue_by_cublas(stream, product);
  wait_if_asked(stream);
}

bool CudaDriver::queue_convolution(NativeStream native, const devices::Convolution& convolution) {
  CudaStream& stream = stream_of(native);
  if (!is_cudnn_allowed() || !has_cudnn() || !queue_by_cudnn(stream, convolution)) return false;
  wait_if_asked(stream);
  return true;
}

bool CudaDriver::queue_attention(NativeStream native, const devices::Attention& attention) {
  CudaStream& stream = stream_of(native);
  if (!is_cudnn_allowed() || !has_cudnn() || !queue_by_cudnn(stream, attention)) return false;
  wait_if_asked(stream);
  return true;
}

std::unique_ptr<devices::Kernel> CudaDriver::make_kernel(devices::BaseDevice& device,
                                                         const char* op, const std::string& source,
                                                         const char* entry) {
  const auto& own = static_cast<CudaDevice&>(device);
  const ContextScope scope(own.context);
  Module module = module_for(own, op, source);
  CUfunction function = nullptr;
  check(api().cuModuleGetFunction(&function, module.get(), entry), "cuModuleGetFunction");
  return std::make_unique<CudaKernel>(std::move(module), function);
}

void CudaDriver::queue_kernel(NativeStream native, devices::Kernel& kernel, devices::Grid grid,
                              std::span<const devices::Argument> arguments) {
  if (grid.groups > std::numeric_limits<int>::max()) {
    throw Failure(str("a launch has at most 2147483647 groups, got ", grid.groups));
  }
  const CudaStream& stream = stream_of(native);
  const ContextScope scope(stream.device->context);
  std::array<void*, kMostArguments> places = places_of(arguments);
  check(api().cuLaunchKernel(static_cast<CudaKernel&>(kernel).handle(),
                             static_cast<unsigned>(grid.groups), 1, 1, grid.group_size, 1, 1, 0,
                             stream.handle, places.data(), nullptr),
        "cuLaunchKernel");
  wait_if_asked(stream);
}

}  // namespace ebb::cuda
