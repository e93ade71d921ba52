// tests/packaging/consumer/main.cpp -- trains one step, saves, loads, and uses a device, with an
// installed ebb.
//
// Prints the loss before and after the step, and a gradient computed on the device; the test beside
// it reads them.
#include <cstdio>
#include <string>

#include "ebb/core/device/device_plugin.h"
#include "ebb/ebb.h"

namespace {

using ebb::Tensor;

Tensor loss_of(const Tensor& x, const Tensor& weight) { return x.matmul(weight).sum(); }

/// d(x * x)/dx at 3, on the device of the plug-in.
double gradient_on(ebb::Device device) {
  const Tensor x = ebb::full({1}, 3.0, ebb::DType::float32, device).requires_grad_();
  (x * x).backward();
  return x.grad().item<double>();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const Tensor x = ebb::ones({4, 3});
  const Tensor weight = ebb::ones({3, 2}).requires_grad_();
  const Tensor loss = loss_of(x, weight);
  loss.backward();
  ebb::optim::Adam optimizer({weight});
  optimizer.step();

  const std::string path = arguments[1];
  ebb::io::save_safetensors(path, {{"weight", weight}});
  const Tensor loaded = ebb::io::load_safetensors(path).tensors.at(0).second;
  try {
    x.matmul(x);
    return 1;
  } catch (const ebb::ShapeError&) {  // caught by its type across the library's border
    const ebb::Device toy{ebb::load_device_plugin(arguments[2]), 0};
    std::printf("%.3f %.3f %.3f\n", loss.item<double>(), loss_of(x, loaded).item<double>(),
                gradient_on(toy));
  }
  return 0;
}
