// tests/packaging/consumer/main.cpp -- trains one step, saves and loads, with an installed ebb.
//
// Prints the loss before and after the step; the test beside it reads both.
#include <cstdio>
#include <string>

#include "ebb/autograd/engine.h"
#include "ebb/autograd/ops.h"
#include "ebb/autograd/variable.h"
#include "ebb/core/error.h"
#include "ebb/io/safetensors.h"
#include "ebb/optim/adam.h"

namespace {

using ebb::Tensor;

Tensor loss_of(const Tensor& x, const Tensor& weight) { return ebb::sum(ebb::matmul(x, weight)); }

double value_of(const Tensor& scalar) { return static_cast<double>(*scalar.data<float>()); }

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
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
    std::printf("%.3f %.3f\n", value_of(loss), value_of(loss_of(x, loaded)));
  }
  return 0;
}
