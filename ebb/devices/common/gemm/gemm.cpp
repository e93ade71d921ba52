// ebb/devices/common/gemm/gemm.cpp -- plans a product of matrices: blocks, parts, and one or two
// launches.
#include "ebb/devices/common/gemm/gemm.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

#include "ebb/core/base/error.h"
#include "ebb/devices/common/base/elementwise.h"
#include "ebb/devices/common/gemm/library_gemm.h"
#include "ebb/devices/common/reduce/reduce.h"
#include "ebb/devices/launch/source.h"
#include "ebb/ops/view_of.h"

namespace ebb::devices {

using kernels::Context;
using kernels::ConvShape;
using kernels::TensorView;

namespace {

/// Products of two numbers that are worth a group.
constexpr int64_t kLeastWork = int64_t{1} << 16;
/// What a part of a sum has at least, in columns of a.
constexpr int64_t kLeastDepth = 256;
constexpr int64_t kMostDepth = 256;  // columns of a that a block copies at a time, on CPUs

/// How a kernel is made: the part of a plan that changes its source.
struct Tile {
  bool is_cpu = false;
  Compute compute = Compute::f32;
  uint32_t lanes = 4;  // of a vector, on CPUs
  int64_t rows = 4;    // of the tile in registers, on CPUs
  int64_t width = 2;   // the vectors of its rows
  int64_t side = 16;   // items of a group along one side, on GPUs

  int64_t row_step() const { return is_cpu ? rows : 4 * side; }
  int64_t column_step() const { return is_cpu ? width * lanes : 4 * side; }
  int64_t most_rows() const { return is_cpu ? int64_t{256} / rows * rows : 4 * side; }
  int64_t most_columns() const { return is_cpu ? int64_t{256} : 4 * side; }
  uint32_t group_size() const { return is_cpu ? 1 : static_cast<uint32_t>(side * side); }
};

Tile tile_for(Compute compute, const Traits& traits) {
  Tile tile{.is_cpu = traits.is_cpu, .compute = compute};
  if (traits.is_cpu) {
    // As many sums as registers hold: machines with vectors of 16 floats have 32 of them.
    tile.rows = traits.lanes >= 16 ? 8 : traits.lanes == 8 ? 6 : 4;
    tile.lanes = item_size(compute) == 8 ? traits.lanes / 2 : traits.lanes;
  } else {
    tile.side = traits.group_size >= 256 ? 16 : 8;
  }
  return tile;
}

struct Plan {
  Tile tile;
  int64_t batch = 1;
  int64_t tile_m = 0, tile_n = 0, tiles_m = 0, tiles_n = 0;
  int64_t pairs_part = 0, pairs_parts = 1;  // pairs of a part, and how many such parts
  int64_t depth_part = 0, depth_parts = 1;
  bool as_int32 = true;

  int64_t parts() const { return pairs_parts * depth_parts; }
  int64_t blocks() const { return batch * tiles_m * tiles_n; }
};

constexpr int64_t ceil_divide(int64_t value, int64_t by) { return (value + by - 1) / by; }
constexpr int64_t round_up(int64_t value, int64_t step) { return ceil_divide(value, step) * step; }

/// Blocks as large as they may be, then smaller ones while there are too few of them.
void choose_blocks(const Gemm& gemm, int64_t wanted, Plan& plan) {
  const Tile& tile = plan.tile;
  plan.tile_m = std::min(tile.most_rows(), round_up(gemm.m, tile.row_step()));
  plan.tile_n = std::min(tile.most_columns(), round_up(gemm.n, tile.column_step()));
  const auto count = [&] {
    plan.tiles_m = ceil_divide(gemm.m, plan.tile_m);
    plan.tiles_n = ceil_divide(gemm.n, plan.tile_n);
    return plan.blocks();
  };
  while (count() < wanted) {
    const bool is_tall = plan.tile_m > plan.tile_n;
    int64_t& side = is_tall ? plan.tile_m : plan.tile_n;
    const int64_t step = is_tall ? tile.row_step() : tile.column_step();
    const int64_t half = round_up(side / 2, step);
    const int64_t work = plan.tile_m * plan.tile_n / side * half * gemm.k * gemm.pairs;
    if (half >= side || work < kLeastWork) break;
    side = half;
  }
}

/// Cuts the sum into parts if the blocks are too few.
void choose_parts(const Gemm& gemm, int64_t wanted, Plan& plan) {
  plan.pairs_part = gemm.pairs;
  plan.depth_part = gemm.k;
  const bool has_room = gemm.batch.ndim() + 3 <= kMaxDims;  // for the view of the parts
  const bool may_cut = has_room && gemm.bias_side == BiasSide::none && !gemm.accumulate;
  if (!may_cut || plan.blocks() >= wanted) return;
  const int64_t depth = gemm.pairs * gemm.k;
  const int64_t parts = std::min(ceil_divide(wanted, plan.blocks()), depth / kLeastDepth);
  if (parts <= 1) return;
  if (gemm.pairs > 1) {
    plan.pairs_part = ceil_divide(gemm.pairs, parts);
    plan.pairs_parts = ceil_divide(gemm.pairs, plan.pairs_part);
  } else {
    plan.depth_part = ceil_divide(gemm.k, parts);
    plan.depth_parts = ceil_divide(gemm.k, plan.depth_part);
  }
}

/// The last element of a matrix of the first batch entry, from its first.
int64_t reach(const Factor& factor, int64_t rows, int64_t columns, int64_t pairs) {
  return std::abs((rows - 1) * factor.row) + std::abs((columns - 1) * factor.column) +
         std::abs((pairs - 1) * factor.next);
}

int64_t reach_of_batch(const Gemm& gemm, int operand) {
  int64_t sum = 0;
  for (int dim = 0; dim < gemm.batch.ndim(); ++dim) {
    sum += (gemm.batch[dim] - 1) * std::abs(gemm.strides[operand][dim]);
  }
  return sum;
}

int64_t numel_of_image(const Gemm& gemm) {
  const ConvShape& shape = *gemm.window;
  return gemm.patches == Patches::of_output
             ? shape.out_channels / shape.groups * shape.output_numel()
             : shape.in_channels / shape.groups * shape.input_numel();
}

bool fits_int32(const Gemm& gemm, const Plan& plan) {
  constexpr int64_t kMost = int64_t{1} << 30;  // half of the range: places beyond the end, too
  const int64_t of_b = gemm.patches == Patches::none
                           ? reach(gemm.b, gemm.k, gemm.n, gemm.pairs)
                           : numel_of_image(gemm) + std::abs((gemm.pairs - 1) * gemm.b.next);
  const int64_t of_out = plan.parts() * plan.batch * gemm.m * gemm.n;
  return std::max({gemm.m, gemm.n, gemm.k, gemm.pairs, of_out, plan.parts() * plan.blocks(),
                   reach(gemm.a, gemm.m, gemm.k, gemm.pairs) + reach_of_batch(gemm, 1),
                   of_b + reach_of_batch(gemm, 2),
                   gemm.m * gemm.out_row + reach_of_batch(gemm, 0)}) < kMost;
}

int64_t batch_size(const Gemm& gemm) {
  int64_t count = 1;
  for (const int64_t size : gemm.batch) count *= size;
  return count;
}

Plan plan_of(const Gemm& gemm, const Traits& traits) {
  Plan plan{.tile = tile_for(compute_of(gemm.a.dtype), traits)};
  plan.batch = batch_size(gemm);
  const int64_t wanted = int64_t{traits.units} * (traits.is_cpu ? 2 : 4);
  choose_blocks(gemm, wanted, plan);
  choose_parts(gemm, wanted, plan);
  plan.as_int32 = fits_int32(gemm, plan);
  return plan;
}

/// What the source depends on beside the plan's tile.
struct Variant {
  DType out = DType::float32;
  bool a_along_k = false, a_along_m = false, b_along_n = false, b_along_k = false;
  int rank = 0;
  bool is_strided = false;
};

Variant variant_of(const Gemm& gemm, DType out, const LoopNest& batch) {
  const bool is_matrix = gemm.patches == Patches::none;
  Variant variant{.out = out, .rank = batch.rank()};
  variant.a_along_k = gemm.a.column == 1 || gemm.k == 1;
  variant.a_along_m = !variant.a_along_k && gemm.a.row == 1;
  variant.b_along_n = is_matrix && (gemm.b.column == 1 || gemm.n == 1);
  variant.b_along_k = is_matrix && !variant.b_along_n && gemm.b.row == 1;
  if (gemm.patches == Patches::of_output) {
    for (const int64_t stride : gemm.window->stride) {
      variant.is_strided = variant.is_strided || stride != 1;
    }
  }
  return variant;
}

SpecKey key_of(const Gemm& gemm, const Plan& plan, const Variant& variant, int device) {
  SpecKey key(Family::gemm, device);
  key.put(static_cast<uint64_t>(gemm.a.dtype), 4).put(static_cast<uint64_t>(gemm.b.dtype), 4);
  key.put(static_cast<uint64_t>(variant.out), 4).put(static_cast<uint64_t>(variant.rank), 6);
  key.put(variant.a_along_k, 1).put(variant.a_along_m, 1);
  key.put(variant.b_along_n, 1).put(variant.b_along_k, 1);
  key.put(static_cast<uint64_t>(gemm.bias_side), 2).put(static_cast<uint64_t>(gemm.patches), 2);
  key.put(variant.is_strided, 1).put(plan.as_int32, 1);
  return key;
}

const char* vector_of(Compute compute) {
  constexpr const char* kTexts[] = {"int", "uint", "long", "ulong", "float", "double"};
  return kTexts[static_cast<int>(compute)];
}

std::string tile_defines(const Tile& tile) {
  if (!tile.is_cpu) return define("SIDE", str(tile.side));
  return define("VECTOR", str(vector_of(tile.compute), tile.lanes)) +
         define("LANES", str(tile.lanes)) + define("TILE_ROWS", str(tile.rows)) +
         define("TILE_WIDTH", str(tile.width)) + define("MOST_M", str(tile.most_rows())) +
         define("MOST_N", str(tile.most_columns())) + define("MOST_K", str(kMostDepth));
}

Recipe recipe_of(const Gemm& gemm, const Plan& plan, const Variant& variant) {
  const std::string entry = "ebb_gemm";  // one kernel for all ops
  const Compute compute = plan.tile.compute;
  std::string source = compute_defines(compute, static_cast<int>(plan.tile.group_size()));
  source += define("NAME", entry) + define("INDEX", plan.as_int32 ? "i32" : "i64");
  source += define("A", text_of(gemm.a.dtype)) + define("B", text_of(gemm.b.dtype));
  source += define("OUT", text_of(variant.out)) + define("RANK", str(variant.rank));
  source += define("A_ROW", variant.a_along_m ? "1" : "p.a_row");
  source += define("A_COLUMN", variant.a_along_k ? "1" : "p.a_column");
  source += define("B_ROW", variant.b_along_k ? "1" : "p.b_row");
  source += define("B_COLUMN", variant.b_along_n ? "1" : "p.b_column");
  source += define("A_ALONG_K", variant.a_along_k ? "1" : "0");
  source += define("B_ALONG_K", variant.b_along_k ? "1" : "0");
  source += define("BIAS", str(static_cast<int>(gemm.bias_side)));
  source += define("PATCHES", str(static_cast<int>(gemm.patches)));
  source += define("STRIDED", variant.is_strided ? "1" : "0");
  source += tile_defines(plan.tile);
  source += elements_k;
  source += gemm_operands_k;
  source += plan.tile.is_cpu ? gemm_registers_k : gemm_local_k;
  return {entry, source};
}

/// The struct Problem of the kernels.
size_t pack_problem(const Gemm& gemm, const Plan& plan, int64_t out_row, int64_t out_part,
                    std::span<char> bytes) {
  const int64_t values[] = {gemm.m,          gemm.n,           gemm.k,
                            plan.tile_m,     plan.tile_n,      plan.tiles_m,
                            plan.tiles_n,    gemm.pairs,       plan.pairs_part,
                            plan.depth_part, plan.depth_parts, plan.parts(),
                            gemm.a.row,      gemm.a.column,    gemm.a.next,
                            gemm.b.row,      gemm.b.column,    gemm.b.next,
                            out_row,         out_part,         gemm.accumulate ? 1 : 0,
                            gemm.bias_rows};
  return pack_integers(values, plan.as_int32, bytes);
}

/// The struct Window of the kernels.
size_t pack_window(const Gemm& gemm, bool as_int32, std::span<char> bytes) {
  const ConvShape& shape = *gemm.window;
  const bool of_output = gemm.patches == Patches::of_output;
  const int64_t* const parts[] = {of_output ? shape.output : shape.input,
                                  shape.kernel,
                                  of_output ? shape.input : shape.output,
                                  shape.stride,
                                  shape.padding,
                                  shape.dilation};
  int64_t values[std::size(parts) * kernels::kMaxSpatial];
  int64_t* to = values;
  for (const int64_t* part : parts) to = std::copy_n(part, kernels::kMaxSpatial, to);
  return pack_integers(values, as_int32, bytes);
}

/// Where a launch writes: the result, or parts of it beside each other.
struct Target {
  void* data;
  DType dtype;
  int64_t row, part;
  Shape strides;
};

LoopNest batch_of(const Gemm& gemm, const Target& target) {
  const auto view = [&](const Shape& strides) {
    return TensorView{.sizes = gemm.batch.begin(),
                      .strides = strides.begin(),
                      .ndim = static_cast<uint8_t>(gemm.batch.ndim())};
  };
  const TensorView out = view(target.strides), a = view(gemm.strides[1]), b = view(gemm.strides[2]);
  const TensorView* const all[] = {&out, &a, &b};
  return {gemm.batch, all, false};
}

void launch(const Gemm& gemm, const Context& context, const Plan& plan, const Target& target) {
  const LoopNest batch = batch_of(gemm, target);
  const Variant variant = variant_of(gemm, target.dtype, batch);
  const int device = context.device.index;
  Kernel& kernel = kernel_of(key_of(gemm, plan, variant, device), gemm.op, device,
                             [&] { return recipe_of(gemm, plan, variant); });
  char problem[sizeof(int64_t) * 32], packed[kMostPacked], window[sizeof(int64_t) * 18];
  Argument arguments[7];
  size_t used = 0;
  const auto add = [&](const void* data, size_t bytes) { arguments[used++] = {data, bytes}; };
  add(target.data, 0);
  add(gemm.a.data, 0);
  add(gemm.b.data, 0);
  if (gemm.bias_side != BiasSide::none) add(gemm.bias, 0);
  add(problem, pack_problem(gemm, plan, target.row, target.part, problem));
  if (batch.rank() > 0) add(packed, batch.pack(plan.as_int32, packed));
  if (gemm.patches != Patches::none) add(window, pack_window(gemm, plan.as_int32, window));
  driver().launch(context, gemm.op, kernel, {plan.blocks() * plan.parts(), plan.tile.group_size()},
                  {arguments, used});
}

/// Adds up the parts, which lie one behind the other, into the result.
void join_parts(const Gemm& gemm, const Context& context, const Plan& plan, void* partial,
                DType dtype) {
  const int64_t count = plan.batch * gemm.m * gemm.n;
  Shape sizes{plan.parts()}, out_sizes{1}, out_strides{0};
  for (int dim = 0; dim < gemm.batch.ndim(); ++dim) {
    sizes.push_back(gemm.batch[dim]);
    out_sizes.push_back(gemm.batch[dim]);
    out_strides.push_back(gemm.strides[0][dim]);
  }
  for (const auto& [size, stride] : {std::pair{gemm.m, gemm.out_row}, {gemm.n, int64_t{1}}}) {
    sizes.push_back(size);
    out_sizes.push_back(size);
    out_strides.push_back(stride);
  }
  Shape strides = sizes;
  contiguous_strides(sizes, strides.begin());
  const auto ndim = static_cast<uint8_t>(sizes.ndim());
  const TensorView parts{partial, sizes.begin(), strides.begin(), plan.parts() * count,
                         ndim,    dtype};
  const TensorView out{gemm.out, out_sizes.begin(), out_strides.begin(), count,
                       ndim,     gemm.out_dtype};
  run_sum(context, parts, out);
}

/// Of the batch as it would lie if it were dense.
Shape dense_strides(const Gemm& gemm) {
  Shape strides = gemm.batch;
  int64_t step = gemm.m * gemm.n;
  for (int dim = gemm.batch.ndim() - 1; dim >= 0; --dim) {
    strides[dim] = step;
    step *= gemm.batch[dim];
  }
  return strides;
}

}  // namespace

void run_gemm(const Gemm& gemm, const Context& context) {
  const Traits& traits = driver().traits(context.device.index);
  for (const DType dtype : {gemm.a.dtype, gemm.b.dtype, gemm.out_dtype}) {
    const bool is_there =
        text_of(dtype) != nullptr && (traits.has_float64 || dtype != DType::float64);
    if (!is_there) ops::throw_no_kernel(gemm.op, dtype, context.device);
  }
  if (gemm.m * gemm.n * batch_size(gemm) == 0 || run_by_library(gemm, context)) return;
  const Plan plan = plan_of(gemm, traits);
  if (plan.parts() == 1) {
    launch(gemm, context, plan, {gemm.out, gemm.out_dtype, gemm.out_row, 0, gemm.strides[0]});
    return;
  }
  const int64_t count = plan.batch * gemm.m * gemm.n;
  const DType dtype = dtype_of_compute(plan.tile.compute);
  const Scratch partial(context,
                        static_cast<size_t>(plan.parts() * count) * item_size(plan.tile.compute));
  launch(gemm, context, plan, {partial.data(), dtype, gemm.n, count, dense_strides(gemm)});
  join_parts(gemm, context, plan, partial.data(), dtype);
}

}  // namespace ebb::devices
