// ebb/devices/common/gemm/library_gemm.cpp -- what of a Gemm is a Product.
//
// A bias is written over the result first, and the product added to it: the sum is rounded once, as
// by kernels of our own.
#include "ebb/devices/common/gemm/library_gemm.h"

#include <optional>

#include "ebb/devices/common/base/copy.h"
#include "ebb/devices/launch/driver.h"
#include "ebb/devices/launch/product.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

/// The batch as one dim; nothing if the operands do not walk through it so.
std::optional<Product> joined(const Gemm& gemm) {
  TensorView views[3];
  for (int operand = 0; operand < 3; ++operand) {
    views[operand].sizes = gemm.batch.begin();
    views[operand].strides = gemm.strides[operand].begin();
    views[operand].ndim = static_cast<uint8_t>(gemm.batch.ndim());
  }
  const TensorView* const all[] = {&views[0], &views[1], &views[2]};
  const LoopNest batch(gemm.batch, all, false);
  if (batch.rank() > 1) return std::nullopt;
  Product product;
  if (batch.rank() == 0) return product;
  product.batch = batch.size(0);
  product.out_batch = batch.stride(0, 0);
  product.a.batch = batch.stride(1, 0);
  product.b.batch = batch.stride(2, 0);
  return product;
}

Operand operand_of(const Factor& factor, int64_t batch) {
  return {factor.data, factor.dtype, factor.row, factor.column, batch};
}

void write_bias(const Gemm& gemm, const Context& context) {
  const int64_t sizes[] = {gemm.m, gemm.n};
  const int64_t bias_strides[] = {0, 1};
  const int64_t out_strides[] = {gemm.out_row, 1};
  const int64_t count = gemm.m * gemm.n;
  const TensorView bias{
      const_cast<void*>(gemm.bias), sizes, bias_strides, count, 2, gemm.out_dtype, false};
  const TensorView out{gemm.out, sizes, out_strides, count, 2, gemm.out_dtype, false};
  run_cast(context, bias, out);
}

}  // namespace

bool run_by_library(const Gemm& gemm, const Context& context) {
  if (!driver().has_products() || gemm.patches != Patches::none || gemm.pairs != 1) return false;
  const bool has_bias = gemm.bias_side != BiasSide::none;
  const bool adds_bias =
      gemm.bias_side == BiasSide::of_columns && gemm.batch.ndim() == 0 && !gemm.accumulate;
  if (gemm.k == 0 || (has_bias && !adds_bias)) return false;
  std::optional<Product> product = joined(gemm);
  if (!product) return false;
  product->m = gemm.m;
  product->n = gemm.n;
  product->k = gemm.k;
  product->a = operand_of(gemm.a, product->a.batch);
  product->b = operand_of(gemm.b, product->b.batch);
  product->out = gemm.out;
  product->out_dtype = gemm.out_dtype;
  product->out_row = gemm.out_row;
  product->accumulate = gemm.accumulate || has_bias;
  if (!driver().takes(*product)) return false;
  if (has_bias) write_bias(gemm, context);
  driver().multiply(context, gemm.op, *product);
  return true;
}

}  // namespace ebb::devices
