// ebb/devices/launch/product.h -- a product of matrices as libraries of a back end take it.
#pragma once

#include <cstdint>

#include "ebb/core/base/dtype.h"

namespace ebb::devices {

/// A matrix of each of a batch, by strides in elements.
struct Operand {
  const void* data = nullptr;
  DType dtype = DType::float32;
  int64_t row = 0, column = 0, batch = 0;
};

/// out [m, n] = a [m, k] b [k, n], for each of a batch; with `accumulate` that is added to what out
/// holds, and rounded once. Sums of half types are in float32. None of the sizes is 0, and rows of
/// out are dense.
struct Product {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  Operand a = {}, b = {};
  void* out = nullptr;
  DType out_dtype = DType::float32;
  int64_t out_row = 0, out_batch = 0;
  bool accumulate = false;
};

}  // namespace ebb::devices
