// ebb/devices/opencl/opencl_driver.h -- devices::Driver by OpenCL: compiling and launching.
#pragma once

#include "ebb/devices/launch/driver.h"

namespace ebb::opencl {

class OpenclDriver final : public devices::Driver {
 public:
  explicit OpenclDriver(DeviceType type);

 private:
  std::unique_ptr<devices::Kernel> make_kernel(devices::BaseDevice& device, const char* op,
                                               const std::string& source,
                                               const char* entry) override;
  void queue_kernel(NativeStream stream, devices::Kernel& kernel, devices::Grid grid,
                    std::span<const devices::Argument> arguments) override;
};

}  // namespace ebb::opencl
