// ebb/devices/common/index/index.cpp -- plans of gathers and scatters.
#include "ebb/devices/common/index/index.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/common/base/copy.h"
#include "ebb/devices/launch/geometry.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

/// A dtype whose elements are words of the same size, which any element is copied as.
DType word_of(DType dtype) {
  switch (item_size(dtype)) {
    case 1: return DType::uint8;
    case 2: return DType::uint16;
    case 4: return DType::uint32;
    default: return DType::uint64;
  }
}

/// A view whose sizes and strides are its own.
struct OwnView {
  Shape sizes, strides;
  TensorView view;

  OwnView(const TensorView& of, IntSpan shape) : sizes(shape), view(of) {
    for (int dim = 0; dim < view.ndim; ++dim) strides.push_back(of.strides[dim]);
    show();
  }
  OwnView(const OwnView&) = delete;
  OwnView& operator=(const OwnView&) = delete;
  /// After sizes or strides were changed.
  void show() {
    view.sizes = sizes.begin();
    view.strides = strides.begin();
    view.ndim = static_cast<uint8_t>(sizes.size());
  }
};

bool fits_int32(const TensorView& view) {
  int64_t reach = 0;
  for (int dim = 0; dim < view.ndim; ++dim) {
    reach += std::max<int64_t>(view.sizes[dim] - 1, 0) * std::abs(view.strides[dim]);
  }
  return reach <= int64_t{1} << 30;
}

/// Adds the geometry, which lives in `packed`, as the last argument.
void add_geometry(KernelCall& call, const LoopNest& nest, std::span<char> packed) {
  if (nest.rank() == 0) return;
  call.add_bytes(packed.first(nest.pack(call.is_int32(), packed)));
}

/// `index` repeated over all dims of `shape` but `dim`.
struct RepeatedIndex : OwnView {
  RepeatedIndex(const TensorView& index, IntSpan shape, int dim) : OwnView(index, shape) {
    const int64_t step = index.ndim == 0 ? 0 : index.strides[0];
    strides.resize(0);
    for (size_t each = 0; each < shape.size(); ++each) {
      strides.push_back(static_cast<int>(each) == dim ? step : 0);
    }
    show();
  }
};

// ---- reading ----------------------------------------------------------------------------------

void gather(const char* op, const Context& context, const TensorView& input, int dim,
            const TensorView& index, const TensorView& out) {
  if (out.numel == 0) return;
  OwnView from(input, out.shape());
  const bool has_dim = out.ndim > 0;
  const int64_t step = has_dim ? input.strides[dim] : 0;
  if (has_dim) from.strides[dim] = 0;
  const TensorView* const views[] = {&out, &index, &from.view};
  const LoopNest nest(out.shape(), views, true);
  KernelCall call(Family::gather, op, context, compute_of(word_of(out.dtype)),
                  nest.fits_int32() && fits_int32(input));
  const Traits& traits = call.traits();
  const int last = nest.rank() - 1;
  const int64_t run = traits.is_cpu && last >= 0 ? 1024 : 1;  // a loop is worth more than items
  const int64_t items = run == 1
                            ? nest.numel()
                            : nest.numel() / nest.size(last) * ((nest.size(last) + run - 1) / run);
  const bool is_beside = run > 1 && nest.stride(0, last) == 1 && nest.stride(2, last) == 1;
  call.set("WORD", word_of(out.dtype)).set("RANK", nest.rank(), 6).set("RUN", run, 11);
  call.set("INDEX_STAYS", run > 1 && nest.stride(1, last) == 0, 1).set("BESIDE", is_beside, 1);
  call.add(out).add(index).add(input).add_index(nest.numel());
  call.add_index(has_dim ? input.sizes[dim] : 1).add_index(step);
  char packed[kMostPacked];
  add_geometry(call, nest, packed);
  call.run({gather_k}, items, run == 1 ? traits.group_size : group_size_for(traits, items));
}

// ---- writing ----------------------------------------------------------------------------------

/// How an element that is written joins the one that is there.
struct Join {
  uint32_t number = 0;     // tells them apart
  const char* text = "";   // of old, value and factor
  bool is_assign = false;  // then elements are words, and the text is not used
  bool adds = false;       // in float32 for half types
};
constexpr Join kAssign{.number = 0, .is_assign = true};
constexpr Join kAdd{.number = 1, .text = "(old + value)", .adds = true};
constexpr Join kAddScaled{.number = 2, .text = "(old + factor * value)", .adds = true};
constexpr Join kMultiply{.number = 3, .text = "(old * value)"};
constexpr Join kLarger{.number = 4, .text = "(value > old || IS_NAN(value) ? value : old)"};
constexpr Join kSmaller{.number = 5, .text = "(value < old || IS_NAN(value) ? value : old)"};

struct Write {
  const char* op;
  Join join;
  const TensorView& index;  // of src's ndim
  const TensorView& src;
  int dim;
  Number factor = {};
};

/// How many lines side by side one index holds for, as those of a row do; a CPU goes over them in a
/// loop. 1 where there are none.
int64_t lines_beside(const Write& work, const TensorView& out, const Traits& traits) {
  const int last = work.src.ndim - 1;
  if (!traits.is_cpu || last < 0 || last == work.dim) return 1;
  const bool are_beside = work.src.strides[last] == 1 && out.strides[last] == 1;
  return are_beside && work.index.strides[last] == 0 ? work.src.sizes[last] : 1;
}

/// How many of `wide` lines an item takes: much of a page of memory, but work for all units.
int64_t block_of(int64_t wide, int64_t rows, const Traits& traits) {
  constexpr int64_t kLeast = 64, kMost = 4096;
  const int64_t wanted = (wide * rows + 4 * traits.units - 1) / (4 * traits.units);
  return std::min(wide, std::clamp((wanted + kLeast - 1) / kLeast * kLeast, kLeast, kMost));
}

/// The other lines as a loop nest: without the dim, and without those that lie side by side.
LoopNest lines_of(const Write& work, const TensorView& out, bool are_beside) {
  Shape sizes(work.src.shape());
  sizes[work.dim] = 1;
  if (are_beside) sizes[work.src.ndim - 1] = 1;
  const OwnView to(out, sizes), at(work.index, sizes), from(work.src, sizes);
  const TensorView* const views[] = {&to.view, &at.view, &from.view};
  return {sizes, views, true};
}

/// How many parts the positions are cut into, so that there is work for all.
int64_t parts_of(int64_t lines, int64_t positions, const Traits& traits) {
  const int64_t wanted =
      traits.is_cpu ? traits.units * int64_t{2} : int64_t{traits.units} * traits.group_size;
  const int64_t most = traits.is_cpu ? traits.units : 64;
  return std::clamp<int64_t>(wanted / lines, 1, std::min(most, positions));
}

void write(const Write& work, const Context& context, const TensorView& out) {
  const Traits& traits = driver().traits(context.device.index);
  const int64_t wide = lines_beside(work, out, traits);
  const LoopNest rows = lines_of(work, out, wide > 1);
  const int64_t block = block_of(wide, rows.numel(), traits);
  const int64_t lines = rows.numel() * ((wide + block - 1) / block);
  const int64_t positions = out.sizes[work.dim];
  const int64_t parts = parts_of(lines, positions, traits);
  const int64_t reach = (positions + parts - 1) / parts;
  const bool as_int32 = rows.fits_int32() && fits_int32(out) && fits_int32(work.index) &&
                        fits_int32(work.src) && lines * parts <= int64_t{1} << 30;
  const DType to = work.join.is_assign ? word_of(out.dtype) : out.dtype;
  const DType from = work.join.is_assign ? to : work.src.dtype;
  KernelCall call(Family::scatter, work.op, context, compute_of(to), as_int32);
  call.set("WHICH", work.join.number, 4).set("OUT", to).set("SRC", from);
  call.set("BESIDE", wide > 1, 1).set("RANK", rows.rank(), 6);
  call.set_text(work.join.is_assign ? "JOIN_ASSIGN" : "JOIN(old, value)", work.join.text);
  call.add(out).add(work.index).add(work.src);
  const int64_t length = work.src.sizes[work.dim];
  for (const int64_t value :
       {lines, length, positions, reach, out.strides[work.dim], work.index.strides[work.dim],
        work.src.strides[work.dim], wide, block}) {
    call.add_index(value);
  }
  call.add_bytes({work.factor.bytes, item_size(compute_of(to))});
  char packed[kMostPacked];
  add_geometry(call, rows, packed);
  const int64_t items = lines * parts;
  call.run({scatter_k}, items, group_size_for(traits, items));
}

/// Adds numbers of a half type up in float32, beside `out`, then once to what is there.
void add_apart(const Write& work, const Context& context, const TensorView& out) {
  const Scratch scratch(context, static_cast<size_t>(out.numel) * sizeof(float));
  OwnView sums(out, out.shape());
  contiguous_strides(sums.sizes, sums.strides.begin());
  sums.show();
  sums.view.data = scratch.data();
  sums.view.dtype = DType::float32;
  sums.view.contiguous = true;
  run_fill(context, -0.0, sums.view);  // changes no number that it is added to
  write(work, context, sums.view);
  const Elementwise join{.family = Family::join_sums,
                         .op = work.op,
                         .parameters = "old, sum",
                         .expression = "old + sum"};
  const TensorView* const operands[] = {&out, &sums.view};
  run_elementwise(join, context, out, operands);
}

void scatter(const Write& work, const Context& context, const TensorView& out) {
  if (work.src.numel == 0 || out.numel == 0) return;
  if (work.join.adds && is_half(out.dtype)) return add_apart(work, context, out);
  write(work, context, out);
}

}  // namespace

void run_gather(const Context& context, const TensorView& input, int dim, const TensorView& index,
                const TensorView& out) {
  gather("gather", context, input, dim, index, out);
}

void run_index_select(const Context& context, const TensorView& input, int dim,
                      const TensorView& index, const TensorView& out) {
  const RepeatedIndex repeated(index, out.shape(), dim);
  gather("index_select", context, input, dim, repeated.view, out);
}

void run_scatter(const Context& context, const TensorView& index, const TensorView& src, int dim,
                 const TensorView& out) {
  scatter({"scatter", kAssign, index, src, dim}, context, out);
}

void run_scatter_add(const Context& context, const TensorView& index, const TensorView& src,
                     int dim, const TensorView& out) {
  scatter({"scatter_add", kAdd, index, src, dim}, context, out);
}

void run_scatter_prod(const Context& context, const TensorView& index, const TensorView& src,
                      int dim, const TensorView& out) {
  scatter({"scatter_prod", kMultiply, index, src, dim}, context, out);
}

void run_scatter_amax(const Context& context, const TensorView& index, const TensorView& src,
                      int dim, const TensorView& out) {
  scatter({"scatter_amax", kLarger, index, src, dim}, context, out);
}

void run_scatter_amin(const Context& context, const TensorView& index, const TensorView& src,
                      int dim, const TensorView& out) {
  scatter({"scatter_amin", kSmaller, index, src, dim}, context, out);
}

void run_index_add(const Context& context, const TensorView& index, const TensorView& src, int dim,
                   const Scalar& alpha, const TensorView& out) {
  const RepeatedIndex repeated(index, src.shape(), dim);
  const Join join = alpha.to_double() == 1 ? kAdd : kAddScaled;
  const Compute compute = compute_of(out.dtype);
  const Number factor = alpha.kind() <= Kind::integer ? number_of(alpha.to_int(), compute)
                                                      : number_of(alpha.to_double(), compute);
  scatter({"index_add", join, repeated.view, src, dim, factor}, context, out);
}

void run_index_copy(const Context& context, const TensorView& index, const TensorView& src, int dim,
                    const TensorView& out) {
  const RepeatedIndex repeated(index, src.shape(), dim);
  scatter({"index_copy", kAssign, repeated.view, src, dim}, context, out);
}

}  // namespace ebb::devices
