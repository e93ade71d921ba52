// ebb/devices/common/reduce/reduce.cpp -- plans a reduction: lanes, parts, and one or two launches.
#include "ebb/devices/common/reduce/reduce.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <optional>
#include <string_view>

#include "ebb/core/base/error.h"
#include "ebb/devices/common/base/call.h"
#include "ebb/devices/common/base/lines.h"
#include "ebb/devices/launch/geometry.h"
#include "ebb/devices/launch/source.h"
#include "ebb/ops/view_of.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

/// The least work of a part, in elements: less is not worth another launch.
constexpr int64_t kLeastPart = 4096;

/// How the elements of a launch lie, and how they are shared out.
struct Plan {
  LoopNest kept;     // result, input, what is given
  LoopNest reduced;  // input
  bool as_int32 = true;
  bool is_dense = true;  // the elements of a row follow each other
  uint32_t group_size = 1;
  uint32_t lanes = 1;
  uint32_t chains = 1;
  uint32_t columns = 1;  // rows of an item that lie side by side
  int64_t rows = 0;
  int64_t fixed = 0;  // fixed_length()
  int64_t total = 0;  // elements of a row
  int64_t parts = 1;
  int64_t length = 0;  // elements of a part
};

struct Shapes {
  Shape kept;
  Shape reduced;
};

Shapes split(const TensorView& input, const TensorView& out) {
  Shapes shapes;
  for (int dim = 0; dim < input.ndim; ++dim) {
    const bool is_reduced = out.sizes[dim] == 1;
    shapes.kept.push_back(is_reduced ? 1 : input.sizes[dim]);
    shapes.reduced.push_back(is_reduced ? input.sizes[dim] : 1);
  }
  return shapes;
}

/// Whether rows lie side by side, and their own elements far from each other.
bool has_columns(const Plan& plan) {
  constexpr int64_t kFewest = 8;
  const int last = plan.kept.rank() - 1;
  const int own = plan.reduced.rank() - 1;
  return last >= 0 && own >= 0 && plan.kept.stride(1, last) == 1 &&
         plan.reduced.stride(0, own) != 1 && plan.kept.size(last) >= kFewest;
}

/// How many items the rows are shared among, apart from parts.
int64_t shares_of(const Plan& plan) {
  if (plan.columns == 1) return plan.rows;
  const int64_t side = plan.kept.size(plan.kept.rank() - 1);
  return plan.rows / side * ((side + plan.columns - 1) / plan.columns);
}

Plan plan_of(const TensorView& input, const TensorView& out, const TensorView& given,
             const Traits& traits) {
  const Shapes shapes = split(input, out);
  const TensorView* const all[] = {&out, &input, &given};
  const TensorView* const one[] = {&input};
  Plan plan{LoopNest(shapes.kept, all, true), LoopNest(shapes.reduced, one, true)};
  plan.rows = plan.kept.numel();
  plan.total = plan.reduced.numel();
  plan.is_dense = plan.reduced.is_dense();
  plan.as_int32 = plan.kept.fits_int32() && plan.reduced.fits_int32();
  int64_t wanted = int64_t{traits.units} * (traits.is_cpu ? 4 : 8);  // groups
  if (traits.is_cpu && has_columns(plan)) {
    wanted = int64_t{traits.units} * 2;
    plan.columns = kMostColumns;
    while (plan.columns > 64 && shares_of(plan) < wanted) plan.columns /= 2;
  }
  const int64_t shares = shares_of(plan);
  const int64_t most_parts = std::clamp<int64_t>(plan.total / kLeastPart, 1, 1024);
  plan.parts = std::clamp<int64_t>(wanted / std::max<int64_t>(shares, 1), 1, most_parts);
  plan.length = std::max<int64_t>((plan.total + plan.parts - 1) / plan.parts, 1);
  plan.chains = traits.is_cpu ? chains_of(plan.length) : 4;
  const int64_t slots = shares * plan.parts;
  if (traits.is_cpu) {
    plan.lanes = 1;
    if (plan.is_dense && plan.columns == 1)
      plan.fixed = fixed_length(traits, plan.rows, plan.total);
    plan.group_size = slots >= wanted * 64 ? 64 : slots >= wanted * 8 ? 8 : 1;
  } else {
    plan.group_size = traits.group_size;
    const auto useful = static_cast<uint64_t>(std::max<int64_t>(plan.length / 4, 1));
    plan.lanes = static_cast<uint32_t>(std::min<uint64_t>(std::bit_floor(useful), plan.group_size));
  }
  return plan;
}

/// What a launch reads and writes.
struct Launch {
  DType in_type;
  DType out_type;
  void* in;
  void* out;
  bool is_first;
  bool is_last;
};

/// Whether an expression calls a function.
bool calls(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '(' && std::isalnum(static_cast<unsigned char>(text[i - 1]))) return true;
  }
  return false;
}

void specialise(KernelCall& call, const Reduction& work, const Plan& plan, const Launch& launch) {
  call.set("NUMBER", work.number, 8).set("IN", launch.in_type).set("OUT", launch.out_type);
  call.set("RANK", plan.kept.rank(), 6).set("REDUCED_RANK", std::max(plan.reduced.rank(), 1), 6);
  call.set("REDUCED_DENSE", plan.is_dense, 1);
  call.set("LANES", plan.lanes, 12).set("WIDE", plan.chains, 6).set("COLUMNS", plan.columns, 11);
  call.set("SHORT", plan.fixed, 8);
  call.set("IS_FIRST", launch.is_first, 1).set("IS_LAST", launch.is_last, 1);
  call.set("HAS_OTHER", launch.is_first && work.other != nullptr, 1);
  call.set("HAS_GIVEN", launch.is_first && work.given != nullptr, 1);
  call.set("FINDS_MEAN", launch.is_first && work.finds_mean, 1);
  call.set_text("INIT", work.init);
  call.set_text("MAP(x, y, given)", launch.is_first ? work.map : "x");
  const bool maps_first = launch.in_type == DType::float16 || (launch.is_first && calls(work.map));
  call.set_text("MAPS_FIRST", maps_first && plan.lanes == 1 ? "1" : "0");
  call.set_text("COMBINE(x, y)", work.combine);
  call.set_text("FINISH(x)", launch.is_last ? work.finish : "x");
}

void launch(const Reduction& work, const Context& context, const Plan& plan, const Launch& launch,
            int64_t count) {
  KernelCall call(Family::reduce, work.op, context, work.compute, plan.as_int32);
  specialise(call, work, plan, launch);
  char kept[kMostPacked];
  char reduced[kMostPacked] = {};
  const size_t item = plan.as_int32 ? sizeof(int32_t) : sizeof(int64_t);
  const size_t reduced_bytes = std::max(plan.reduced.pack(plan.as_int32, reduced),
                                        2 * item);  // the struct has a dim at least
  const auto data_of = [&](const TensorView* view) {
    return launch.is_first && view != nullptr ? view->data : launch.in;
  };
  call.add(launch.out).add(launch.in).add(data_of(work.other)).add(data_of(work.given));
  for (const int64_t value : {plan.rows, plan.total, plan.parts, plan.length, count}) {
    call.add_index(value);
  }
  call.add_number(work.parameter).add_number(work.divisor).add_bytes({reduced, reduced_bytes});
  if (plan.kept.rank() > 0) call.add_bytes({kept, plan.kept.pack(plan.as_int32, kept)});
  call.run({reduce_k}, shares_of(plan) * plan.parts * plan.lanes, plan.group_size);
}

void run(const Reduction& work, const Context& context, const TensorView& input,
         const TensorView& out, bool is_first, int64_t count);

/// Combines the parts, which lie in `partial`, into `out`.
void combine_parts(const Reduction& work, const Context& context, const Plan& plan, void* partial,
                   const TensorView& out, int64_t count) {
  // The rows in the order of the first launch, as a view with one more dim, of the parts.
  const int ndim = plan.kept.rank() + 1;
  Shape sizes, strides, out_sizes, out_strides;
  int64_t step = plan.rows * plan.parts;
  for (int dim = 0; dim < ndim; ++dim) {
    const bool is_part = dim == ndim - 1;
    const int64_t size = is_part ? plan.parts : plan.kept.size(dim);
    step /= size;
    sizes.push_back(size);
    strides.push_back(step);
    out_sizes.push_back(is_part ? 1 : size);
    out_strides.push_back(is_part ? 0 : plan.kept.stride(0, dim));
  }
  const TensorView parts{partial,
                         sizes.begin(),
                         strides.begin(),
                         plan.rows * plan.parts,
                         static_cast<uint8_t>(ndim),
                         dtype_of_compute(work.compute)};
  const TensorView target{out.data,  out_sizes.begin(),          out_strides.begin(),
                          plan.rows, static_cast<uint8_t>(ndim), out.dtype};
  run(work, context, parts, target, false, count);
}

void run(const Reduction& work, const Context& context, const TensorView& input,
         const TensorView& out, bool is_first, int64_t count) {
  const TensorView& given = is_first && work.given != nullptr ? *work.given : out;
  Plan plan = plan_of(input, out, given, driver().traits(context.device.index));
  if (!is_first) {  // few: one item, or group, takes all parts of its row
    plan.parts = 1;
    plan.length = plan.total;
  }
  const DType partial_type = dtype_of_compute(work.compute);
  const DType out_type = plan.parts == 1 ? out.dtype : partial_type;
  std::optional<Scratch> partial;
  if (plan.parts > 1) {
    partial.emplace(context, static_cast<size_t>(plan.rows * plan.parts) * item_size(work.compute));
  }
  const Launch one{input.dtype, out_type,
                   input.data,  plan.parts == 1 ? out.data : partial->data(),
                   is_first,    plan.parts == 1};
  launch(work, context, plan, one, count);
  if (partial) combine_parts(work, context, plan, partial->data(), out, count);
}

}  // namespace

void run_reduction(const Reduction& work, const Context& context, const TensorView& input,
                   const TensorView& out) {
  if (out.numel == 0) return;
  // Now, since scratch memory is taken before the kernels are.
  for (const DType dtype : {input.dtype, out.dtype}) {
    KernelCall(Family::reduce, work.op, context, work.compute, true).set("T", dtype);
  }
  run(work, context, input, out, true, input.numel / out.numel);
}

namespace {

/// What extrema begin with: the least (greatest) number of the type that is computed in, false or
/// true of bool.
const char* least_of(DType dtype, Compute compute) {
  if (dtype == DType::boolean) return "0";
  constexpr const char* kTexts[] = {"-2147483647 - 1", "0",        "-9223372036854775807L - 1", "0",
                                    "-INFINITY",       "-INFINITY"};
  return kTexts[static_cast<int>(compute)];
}
const char* greatest_of(DType dtype, Compute compute) {
  if (dtype == DType::boolean) return "1";
  constexpr const char* kTexts[] = {
      "2147483647", "4294967295U", "9223372036854775807L", "18446744073709551615UL",
      "INFINITY",   "INFINITY"};
  return kTexts[static_cast<int>(compute)];
}

/// What a reduction begins with, where the row says LEAST or GREATEST.
const char* init_of(const ReductionRow& row, DType dtype, Compute compute) {
  const std::string_view init = row.init;
  if (init == "LEAST") return least_of(dtype, compute);
  return init == "GREATEST" ? greatest_of(dtype, compute) : row.init;
}

}  // namespace

void run_reduction_row(uint32_t number, const Context& context, const TensorView& input,
                       const TensorView& out) {
  const ReductionRow& row = kReductionRows[number];
  const Compute compute = compute_of(out.dtype);
  run_reduction({.number = kFirstReductionRow + number,
                 .op = row.name,
                 .init = init_of(row, input.dtype, compute),
                 .map = row.map,
                 .combine = row.combine,
                 .finish = row.finish,
                 .compute = compute},
                context, input, out);
}

void run_sum(const Context& context, const TensorView& input, const TensorView& out) {
  run_reduction({.number = 0, .op = "sum", .compute = compute_of(out.dtype)}, context, input, out);
}

namespace {

/// Squared distances from the mean, which another reduction leaves in the shape of `out`.
void run_moment(const Context& context, const TensorView& input, double correction,
                const TensorView& out, bool is_root) {
  if (out.numel == 0) return;
  const Compute compute = compute_of(input.dtype);
  Reduction work{.number = is_root ? 12u : 11u,
                 .op = is_root ? "std" : "var",
                 .map = "(x - given) * (x - given)",
                 .finish = is_root ? "sqrt(x / larger((C)count - parameter, (C)0))"
                                   : "x / larger((C)count - parameter, (C)0)",
                 .compute = compute,
                 .parameter = correction};
  const Traits& traits = driver().traits(context.device.index);
  if (traits.is_cpu && plan_of(input, out, out, traits).parts == 1) {
    work.finds_mean = true;  // while the row is in a cache
    return run_reduction(work, context, input, out);
  }
  const Reduction mean_of{.number = 1, .op = "mean", .finish = "x / (C)count", .compute = compute};
  const Scratch memory(context, static_cast<size_t>(out.numel) * item_size(compute));
  Shape strides(out.shape());
  contiguous_strides(out.shape(), strides.begin());
  const TensorView mean{memory.data(), out.sizes, strides.begin(),
                        out.numel,     out.ndim,  dtype_of_compute(compute)};
  run_reduction(mean_of, context, input, mean);
  work.given = &mean;
  run_reduction(work, context, input, out);
}

}  // namespace

void run_var(const Context& context, const TensorView& input, double correction,
             const TensorView& out) {
  run_moment(context, input, correction, out, false);
}

void run_std(const Context& context, const TensorView& input, double correction,
             const TensorView& out) {
  run_moment(context, input, correction, out, true);
}

void run_norm(const Context& context, const TensorView& input, double p, const TensorView& out) {
  Reduction work{.op = "norm", .compute = compute_of(out.dtype), .parameter = p};
  if (p == 2) {
    work.number = 5;
    work.map = "x * x";
    work.finish = "sqrt(x)";
  } else if (p == 1) {
    work.number = 6;
    work.map = "fabs(x)";
  } else if (p == 0) {
    work.number = 7;
    work.map = "x != 0";
  } else if (std::isinf(p)) {
    work.number = p > 0 ? 8 : 9;
    work.init = p > 0 ? "0" : "INFINITY";
    work.map = "fabs(x)";
    work.combine = p > 0 ? "larger(x, y)" : "smaller(x, y)";
  } else {
    work.number = 10;
    work.map = "pow(fabs(x), parameter)";
    work.finish = "pow(x, 1 / parameter)";
  }
  run_reduction(work, context, input, out);
}

}  // namespace ebb::devices
