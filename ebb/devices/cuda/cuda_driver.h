// ebb/devices/cuda/cuda_driver.h -- devices::Driver by CUDA: compiling and launching.
#pragma once

#include "ebb/devices/launch/driver.h"

namespace ebb::cuda {

class CudaDriver final : public devices::Driver {
 public:
  explicit CudaDriver(DeviceType type);
  bool has_products() const override;
  bool takes(const devices::Product& product) const override;

 private:
  std::unique_ptr<devices::Kernel> make_kernel(devices::BaseDevice& device, const char* op,
                                               const std::string& source,
                                               const char* entry) override;
  void queue_kernel(NativeStream stream, devices::Kernel& kernel, devices::Grid grid,
                    std::span<const devices::Argument> arguments) override;
  bool queue_convolution(NativeStream stream, const devices::Convolution& convolution) override;
  bool queue_attention(NativeStream stream, const devices::Attention& attention) override;
  void queue_product(NativeStream stream, const devices::Product& product) override;
};

}  // namespace ebb::cuda
