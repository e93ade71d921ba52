// tests/packaging/consumer/main.cpp -- trains one step, saves, loads, and uses a device, with an
// installed ebb.
//
// Prints the loss before and after the step, and a gradient computed on the device; the test beside
// it reads them.
#include <cstdio>
#include <string>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops.h"
#include "ebb/core/base/error.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/io/safetensors.h"
#include "ebb/optim/adam.h"

namespace {

using ebb::Tensor;

Tensor loss_of(const Tensor& x, const Tensor& weight) { return ebb::sum(ebb::matmul(x, weight)); }

double value_of(const Tensor& scalar) { return static_cast<double>(*scalar.data<float>()); }

/// d(x * x)/dx at 3, on the device of the plug-in.
double gradient_on(ebb::Device device) {
  const Tensor x = ebb::requires_grad_(ebb::full(ebb::Shape{1}, 3.0, ebb::DType::float32, device));
  ebb::backward(ebb::mul(x, x));
  return value_of(ebb::to_device(ebb::grad_of(x), ebb::Device{}));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const Tensor x = ebb::ones(ebb::Shape{4, 3});
  const Tensor weight = ebb::requires_grad_(ebb::ones(ebb::Shape{3, 2}));
  const Tensor loss = loss_of(x, weight);
  ebb::backward(loss);
  ebb::optim::Adam optimizer({weight});
  optimizer.step();

  const std::string path = arguments[1];
  ebb::io::save_safetensors(path, {{"weight", weight}});
  const Tensor loaded = ebb::io::load_safetensors(path).tensors.at(0).second;
  try {
    ebb::matmul(x, x);
    return 1;
  } catch (const ebb::ShapeError&) {  // caught by its type across the library's border
    const ebb::Device toy{ebb::load_device_plugin(arguments[2]), 0};
    std::printf("%.3f %.3f %.3f\n", value_of(loss), value_of(loss_of(x, loaded)), gradient_on(toy));
  }
  return 0;
}
