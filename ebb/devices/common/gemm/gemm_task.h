// ebb/devices/common/gemm/gemm_task.h -- a product of matrices as ops ask for it.
#pragma once

#include "ebb/devices/launch/geometry.h"
#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// A matrix of a batch: element (row, column) of pair number p of the sum lies at
/// data[row * this.row + column * this.column + p * next].
struct Factor {
  const void* data = nullptr;
  DType dtype = DType::float32;
  int64_t row = 0, column = 0, next = 0;
};

enum class BiasSide : uint8_t { none, of_columns, of_rows };

/// What the second factor is: a matrix in memory, or what kernels/gemm/gemm_operands.k says.
enum class Patches : uint8_t { none, by_place, by_tap, of_output };

/// out [m, n] = sum over pairs of a [m, k] b [k, n], plus bias, for each of a batch. The result has
/// dense rows; it is `out.row` from one to the next. Sums of half types are in float32.
struct Gemm {
  const char* op = "";
  int64_t m = 0, n = 0, k = 0;
  int64_t pairs = 1;
  Factor a = {}, b = {};
  void* out = nullptr;
  DType out_dtype = DType::float32;
  int64_t out_row = 0;
  bool accumulate = false;  // add to what `out` holds
  BiasSide bias_side = BiasSide::none;
  const void* bias = nullptr;  // in the dtype of `out`
  int64_t bias_rows = 0;       // of_rows: how many rows of all the batch it is for, again and again
  /// The batch, and the strides of out, a and b along its dims.
  Shape batch = {};
  Shape strides[3] = {};
  Patches patches = Patches::none;
  const kernels::ConvShape* window = nullptr;  // of patches
};

}  // namespace ebb::devices
