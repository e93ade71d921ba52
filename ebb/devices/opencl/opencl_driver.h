// ebb/devices/opencl/opencl_driver.h -- devices::Driver by OpenCL: compiling and launching.
#pragma once

#include "ebb/devices/launch/driver.h"

namespace ebb::opencl {

class OpenclDriver final : public devices::Driver {
 public:
  /// `type` is what ebb calls these devices in messages.
  explicit OpenclDriver(DeviceType type) : type_(type) {}

  const devices::Traits& traits(int device) const override;
  std::unique_ptr<devices::Kernel> compile(int device, const char* op, const std::string& source,
                                           const char* entry) override;
  void launch(const kernels::Context& context, const char* op, devices::Kernel& kernel,
              devices::Grid grid, std::span<const devices::Argument> arguments) override;
  void* borrow(const kernels::Context& context, size_t bytes) override;
  void give_back(const kernels::Context& context, void* memory, size_t bytes) noexcept override;

 private:
  Device device_named(int index) const { return {type_, static_cast<int8_t>(index)}; }

  DeviceType type_;
};

}  // namespace ebb::opencl
