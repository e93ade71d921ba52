// ebb/devices/common/pointwise/random.cpp -- launches of the kernels that draw numbers.
#include "ebb/devices/common/pointwise/random.h"

#include <cmath>
#include <cstring>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/common/base/elementwise.h"
#include "ebb/devices/common/reduce/scan.h"
#include "ebb/devices/common/reduce/sort.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

/// Which kernel of the family, for its key.
enum Kind : uint8_t {
  kUniform,
  kNormal,
  kLogNormal,
  kExponential,
  kCauchy,
  kWhole,
  kPermutation,
  kDropout,
  kGeometric
};

bool fits_int32(const TensorView& view) { return view.numel <= int64_t{1} << 30; }

/// Bits of a uniform number: so many that none of them is rounded up to 1.
int uniform_bits(DType dtype) {
  return dtype == DType::float16 ? 11 : dtype == DType::bfloat16 ? 8 : 24;
}

/// The largest number of an integer dtype; of others that do not end, none.
const char* most_of(DType dtype) {
  switch (dtype) {
    case DType::uint8: return "255";
    case DType::int8: return "127";
    case DType::int16: return "32767";
    case DType::int32: return "2147483647";
    case DType::int64: return "9223372036854775807L";
    default: return "0";
  }
}

/// Adds a number as it is; it lives until the call ran.
template <typename Number>
KernelCall& add_raw(KernelCall& call, const Number& number) {
  return call.add_bytes({reinterpret_cast<const char*>(&number), sizeof number});
}

/// Queues `items` items, which is how many counters they take.
void run_items(KernelCall& call, std::string_view part, int64_t items) {
  call.run({philox_k, part}, items, group_size_for(call.traits(), items));
}

struct Distribution {
  Kind kind;
  const char* op;
  const char* define;
  const char* finish = "x";
  double parameters[3] = {};
};

void fill(const Distribution& what, const Context& context, const RandomState& state,
          const TensorView& out) {
  if (out.numel == 0) return;
  const int numbers = out.dtype == DType::float64 ? 2 : 4;  // of a counter
  KernelCall call(Family::random, what.op, context, compute_of(out.dtype), fits_int32(out));
  call.set("KIND", what.kind, 4).set("OUT", out.dtype);
  call.set_text(what.define, "").set_text("FINISH(x)", what.finish);
  call.set("BITS", uniform_bits(out.dtype), 5).set("NUMBERS", numbers, 3);
  call.add(out).add_index(out.numel);
  add_raw(call, state.seed);
  add_raw(call, state.offset);
  for (const double parameter : what.parameters) call.add_number(parameter);
  run_items(call, random_k, (out.numel + numbers - 1) / numbers);
}

}  // namespace

void run_rand(const Context& context, const RandomState& state, double low, double high,
              const TensorView& out) {
  fill({kUniform, "rand", "KIND_UNIFORM", "x", {low, high, high - low}}, context, state, out);
}

void run_randn(const Context& context, const RandomState& state, double mean, double deviation,
               const TensorView& out) {
  fill({kNormal, "randn", "KIND_NORMAL", "x", {mean, deviation, 0}}, context, state, out);
}

void run_log_normal(const Context& context, const RandomState& state, double mean, double deviation,
                    const TensorView& out) {
  fill({kLogNormal, "log_normal", "KIND_NORMAL", "exp(x)", {mean, deviation, 0}}, context, state,
       out);
}

void run_exponential(const Context& context, const RandomState& state, double rate, double,
                     const TensorView& out) {
  fill({kExponential, "exponential", "KIND_EXPONENTIAL", "x", {rate, 0, 0}}, context, state, out);
}

void run_cauchy(const Context& context, const RandomState& state, double median, double sigma,
                const TensorView& out) {
  fill({kCauchy, "cauchy", "KIND_CAUCHY", "x", {median, sigma, 0}}, context, state, out);
}

void run_randint(const Context& context, const RandomState& state, int64_t low, uint64_t range,
                 const TensorView& out) {
  if (out.numel == 0) return;
  KernelCall call(Family::random, "randint", context, Compute::i64, fits_int32(out));
  call.set("KIND", kWhole, 4).set("OUT", out.dtype).add(out).add_index(out.numel);
  add_raw(call, state.seed);
  add_raw(call, state.offset);
  add_raw(call, low);
  add_raw(call, range);
  run_items(call, random_whole_k, (out.numel + 1) / 2);
}

void run_geometric(const Context& context, const RandomState& state, double p, double,
                   const TensorView& out) {
  if (out.numel == 0) return;
  KernelCall call(Family::random, "geometric", context, Compute::f64, fits_int32(out));
  call.set("FLOAT64", DType::float64);  // whatever the result's dtype: counts go far
  call.set("KIND", kGeometric, 4).set("OUT", out.dtype).set_text("EBB_GEOMETRIC", "");
  call.set_text("MOST", most_of(out.dtype)).add(out).add_index(out.numel);
  add_raw(call, state.seed);
  add_raw(call, state.offset);
  call.add_number(std::log1p(-p));
  run_items(call, random_whole_k, (out.numel + 1) / 2);
}

void run_randperm(const Context& context, const RandomState& state, const TensorView& out) {
  if (out.numel == 0) return;
  KernelCall call(Family::random, "randperm", context, Compute::i64, fits_int32(out));
  call.set("KIND", kPermutation, 4).set_text("EBB_PERMUTATION", "").add(out).add_index(out.numel);
  add_raw(call, state.seed);
  add_raw(call, state.offset);
  call.run({philox_k, random_whole_k}, 1, 1);
}

// ---- draws by weight --------------------------------------------------------------------------
// As on the CPU (ebb/kernels/cpu/index/random_choice.cpp): with replacement each draw looks its
// number up in the running sums, without it the categories whose events come first win. Sums and
// logarithms may be rounded otherwise, so that about one draw of 10^15 is another one.

namespace {

/// Memory for rows of float64.
class Rows {
 public:
  Rows(const Context& context, int64_t rows, int64_t width)
      : memory_(context, static_cast<size_t>(rows * width) * sizeof(double)),
        sizes_{rows, width},
        strides_{width, 1} {
    view.data = memory_.data();
    view.sizes = sizes_;
    view.strides = strides_;
    view.numel = rows * width;
    view.ndim = 2;
    view.dtype = DType::float64;
    view.contiguous = true;
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  TensorView view;

 private:
  Scratch memory_;
  int64_t sizes_[2], strides_[2];
};

void draw_again(const Context& context, const RandomState& state, const TensorView& weights,
                const TensorView& out) {
  const int64_t rows = weights.sizes[0], categories = weights.sizes[1], draws = out.sizes[1];
  const Rows sums(context, rows, categories), marks(context, rows, draws);
  run_scan(context, weights, 1, false, sums.view);
  run_rand(context, state, 0, 1, marks.view);
  const int64_t strides[] = {categories, 0};
  TensorView totals = marks.view;
  totals.data = static_cast<double*>(sums.view.data) + (categories - 1);
  totals.strides = strides;
  totals.contiguous = false;
  // Rounding might give the total itself, which no category reaches.
  const Elementwise scale{
      .family = Family::multinomial,
      .op = "multinomial",
      .parameters = "share, total",
      .expression = "share * total < total ? share * total : total * (1 - 2.220446049250313e-16)",
      .compute = Compute::f64};
  const TensorView* const operands[] = {&marks.view, &totals};
  run_elementwise(scale, context, marks.view, operands);
  run_search(context, sums.view, marks.view, true, out);
}

void draw_once(const Context& context, const RandomState& state, const TensorView& weights,
               const TensorView& out) {
  const Rows times(context, weights.sizes[0], weights.sizes[1]);
  run_rand(context, state, 0, 1, times.view);
  const Elementwise wait{.family = Family::multinomial,
                         .number = 1,
                         .op = "multinomial",
                         .parameters = "share, weight",
                         .expression = "weight > 0 ? -log1p(-share) / weight : (C)INFINITY",
                         .compute = Compute::f64};
  const TensorView* const operands[] = {&times.view, &weights};
  run_elementwise(wait, context, times.view, operands);
  TensorView no_values = out;
  no_values.data = nullptr;
  run_sort(context, times.view, 1, false, no_values, out);
}

}  // namespace

void run_multinomial(const Context& context, const RandomState& state, const TensorView& weights,
                     bool replacement, const TensorView& out) {
  if (out.numel == 0) return;
  (replacement ? draw_again : draw_once)(context, state, weights, out);
}

void run_dropout(const Context& context, const TensorView& input, const RandomState& state,
                 double p, const TensorView& out, const TensorView& mask) {
  if (out.numel == 0) return;
  KernelCall call(Family::random, "dropout", context, compute_of(out.dtype), fits_int32(out));
  call.set("KIND", kDropout, 4).set("OUT", out.dtype);
  call.add(out).add(mask).add(input).add_index(out.numel);
  const auto threshold = static_cast<uint32_t>(p * 0x1p32);
  add_raw(call, state.seed);
  add_raw(call, state.offset);
  add_raw(call, threshold);
  call.add_number(1 / (1 - p));
  run_items(call, dropout_k, (out.numel + 3) / 4);
}

void run_masked_scale(const Context& context, const TensorView& input, const TensorView& mask,
                      double scale, const TensorView& out) {
  const Elementwise work{.family = Family::masked_scale,
                         .op = "masked_scale",
                         .parameters = "input, mask, scale",
                         .expression = "mask != 0 ? input * scale : (C)0",
                         .compute = compute_of(out.dtype)};
  const TensorView factor{.data = &scale, .numel = 1, .dtype = DType::float64, .on_host = true};
  const TensorView* const operands[] = {&input, &mask, &factor};
  run_elementwise(work, context, out, operands);
}

}  // namespace ebb::devices
