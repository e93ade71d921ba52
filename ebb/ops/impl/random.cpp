// ebb/ops/impl/random.cpp -- random tensors: checks, a part of the random sequence, the kernel.
//
// Every op reserves as many counters as it has elements, whatever its dtype: so the sequence of a
// program does not depend on dtypes.
#include "ebb/ops/impl/random.h"

#include <cmath>
#include <limits>

#include "ebb/core/base/random.h"
#include "ebb/core/device/stream_checks.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/cauchy.h"
#include "ebb/kernels/tables/dropout.h"
#include "ebb/kernels/tables/exponential.h"
#include "ebb/kernels/tables/geometric.h"
#include "ebb/kernels/tables/log_normal.h"
#include "ebb/kernels/tables/masked_scale.h"
#include "ebb/kernels/tables/multinomial.h"
#include "ebb/kernels/tables/rand.h"
#include "ebb/kernels/tables/randint.h"
#include "ebb/kernels/tables/randn.h"
#include "ebb/kernels/tables/randperm.h"
#include "ebb/ops/compare.h"
#include "ebb/ops/copy.h"
#include "ebb/ops/fallback.h"
#include "ebb/ops/impl/complex.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/impl/new_tensors.h"
#include "ebb/ops/impl/shape.h"
#include "ebb/ops/impl/stretched.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"
#include "ebb/ops/pointwise.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/random_part.h"
#include "ebb/ops/reduce.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops::impl {
namespace {

using RandomTable = kernels::KernelTable<kernels::RandomKernel>;

/// Fills `out`, which is contiguous.
void fill(const char* op, const RandomTable& table, const Tensor& out, double first,
          double second) {
  const auto kernel = kernel_for(op, table, out);
  kernel(context_of(out), random_part(out), first, second, view_of(out));
}

/// Uniform numbers in [0, 1) for comparison with probabilities: float64 if those are.
Tensor uniform_numbers(IntSpan sizes, DType probabilities, Device device) {
  const DType dtype = probabilities == DType::float64 ? DType::float64 : DType::float32;
  const Tensor out = empty(sizes, dtype, device);
  fill("bernoulli", kernels::rand_kernels, out, 0, 1);
  return out;
}

void check_probabilities(const char* op, const Tensor& p) {
  if (p.numel() == 0 || is_meta(p)) return;
  const Tensor once = without_repeats(p);
  const StreamCheck check{
      .op = op, .name = "probabilities", .sizes = once.sizes(), .claim = "from 0 to 1"};
  if (is_range_watched(once, 0, 1, check)) return;
  const double low = ops::min(once).item<double>(), high = ops::max(once).item<double>();
  if (low >= 0 && high <= 1) return;  // false for NaN, which both are if there is one
  throw ValueError(
      str(op, ": probabilities must be from 0 to 1, got values from ", low, " to ", high));
}

void check_deviation(const char* op, double std) {
  if (!(std >= 0)) throw ValueError(str(op, ": std must not be negative, got ", std));
}

void check_positive(const char* op, const char* name, double value) {
  if (!(value > 0)) throw ValueError(str(op, ": ", name, " must be positive, got ", value));
}

void check_deviations(const Tensor& std) {
  if (std.numel() == 0 || is_meta(std)) return;
  const Tensor once = without_repeats(std);
  const StreamCheck check{
      .op = "normal", .name = "std", .sizes = once.sizes(), .claim = "at least 0"};
  if (is_range_watched(once, 0, std::numeric_limits<double>::infinity(), check)) return;
  const double low = ops::min(once).item<double>();
  if (low >= 0) return;
  throw ValueError(str("normal: std must not be negative, got ", low, " at its smallest"));
}

/// Writes numbers made by `table` over `self`, through a copy if it is not contiguous.
const Tensor& overwrite(const char* op, const RandomTable& table, const Tensor& self, double first,
                        double second) {
  check_writable(op, self);
  if (self.is_contiguous()) {
    fill(op, table, self, first, second);
    note_write(op, self);
    return self;
  }
  const Tensor numbers = ebb::empty(self.sizes(), self.dtype(), self.device());
  fill(op, table, numbers, first, second);
  write_region(op, self, Geometry(self), self.impl()->data, numbers);
  return self;
}

const Tensor& overwrite_with(const char* op, const Tensor& self, const Tensor& values) {
  check_writable(op, self);
  write_region(op, self, Geometry(self), self.impl()->data, values);
  return self;
}

/// high - low. Throws unless that is positive and the dtype holds all from low to high - 1.
uint64_t checked_range(const char* op, int64_t low, int64_t high, DType dtype) {
  if (low >= high) {
    throw ValueError(str(op, ": needs low below high, got low ", low, " and high ", high));
  }
  alignas(16) char converted[16];
  Scalar(low).store_as(dtype, converted, op);  // refuses what the dtype cannot hold
  Scalar(high - 1).store_as(dtype, converted, op);
  return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
}

/// Writes whole numbers over `self`; a range of 0 stands for 2^64.
const Tensor& overwrite_with_integers(const Tensor& self, int64_t low, uint64_t range) {
  const Tensor numbers = ebb::empty(self.sizes(), self.dtype(), self.device());
  const auto kernel = kernel_for("random_", kernels::randint_kernels, numbers);
  kernel(context_of(numbers), random_part(numbers), low, range, view_of(numbers));
  return overwrite_with("random_", self, numbers);
}

/// The largest number that random_() gives: up to it, the dtype holds every whole number.
int64_t largest_counted(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::uint8: return UINT8_MAX;
    case DType::int8: return INT8_MAX;
    case DType::int16: return INT16_MAX;
    case DType::int32: return INT32_MAX;
    case DType::bfloat16: return int64_t{1} << 8;
    case DType::float16: return int64_t{1} << 11;
    case DType::float32: return int64_t{1} << 24;
    case DType::float64: return int64_t{1} << 53;
    default: return INT64_MAX;
  }
}

/// Standard normal numbers in the shape that both broadcast to.
Tensor standard_normal(const Tensor& shape_of, DType dtype) {
  const Tensor out = empty(shape_of.sizes(), dtype, shape_of.device());
  fill("normal", kernels::randn_kernels, out, 0, 1);
  return out;
}

}  // namespace

Tensor rand_like(const Tensor& input, std::optional<DType> dtype) {
  const Tensor out = ebb::empty(input.sizes(), dtype.value_or(input.dtype()), input.device());
  fill("rand_like", kernels::rand_kernels, out, 0, 1);
  return out;
}

Tensor randn_like(const Tensor& input, std::optional<DType> dtype) {
  const Tensor out = ebb::empty(input.sizes(), dtype.value_or(input.dtype()), input.device());
  fill("randn_like", kernels::randn_kernels, out, 0, 1);
  return out;
}

Tensor randint(int64_t low, int64_t high, IntSpan size, std::optional<DType> dtype,
               std::optional<Device> device) {
  const DType wanted = dtype.value_or(DType::int64);
  const uint64_t range = checked_range("randint", low, high, wanted);
  const Tensor out = empty(size, wanted, device);
  return written("randint", out, kernels::randint_kernels, [&](const Tensor& target, auto fill) {
    fill(context_of(target), random_part(target), low, range, view_of(target));
  });
}

Tensor randint(int64_t high, IntSpan size, std::optional<DType> dtype,
               std::optional<Device> device) {
  return randint(0, high, size, dtype, device);
}

Tensor randperm(int64_t n, std::optional<DType> dtype, std::optional<Device> device) {
  if (n < 0) throw ValueError(str("randperm: n must not be negative, got ", n));
  const int64_t size[] = {n};
  const Tensor out = empty(size, DType::int64, device);
  written("randperm", out, kernels::randperm_kernels, [&](const Tensor& target, auto fill) {
    fill(context_of(target), random_part(target, n), view_of(target));
  });
  const bool is_wanted = dtype.value_or(DType::int64) == DType::int64;
  return is_wanted ? out : ops::cast(out, *dtype);
}

Tensor normal(const Tensor& mean, const Tensor& std) {
  check_deviations(std);
  const Tensor shape = add(mean, std);
  return add(mul(standard_normal(shape, shape.dtype()), std), mean);
}

Tensor normal(const Tensor& mean, double std) {
  check_deviation("normal", std);
  return add(mul(standard_normal(mean, mean.dtype()), Scalar(std)), mean);
}

Tensor normal(double mean, const Tensor& std) {
  check_deviations(std);
  return add(mul(standard_normal(std, std.dtype()), std), Scalar(mean));
}

Tensor normal(double mean, double std, IntSpan size, std::optional<DType> dtype,
              std::optional<Device> device) {
  check_deviation("normal", std);
  const Tensor out = empty(size, dtype, device);
  return written("normal", out, kernels::randn_kernels, [&](const Tensor& target, auto fill) {
    fill(context_of(target), random_part(target), mean, std, view_of(target));
  });
}

Tensor bernoulli(const Tensor& input) {
  check_probabilities("bernoulli", input);
  const Tensor numbers = uniform_numbers(input.sizes(), input.dtype(), input.device());
  return as_dtype(less(numbers, as_dtype(input, numbers.dtype())), input.dtype());
}

Tensor bernoulli(const Tensor& input, double p) {
  infer::check_probability("bernoulli", p);
  const Tensor numbers = uniform_numbers(input.sizes(), DType::float64, input.device());
  return as_dtype(less(numbers, Scalar(p)), input.dtype());
}

const Tensor& bernoulli_(const Tensor& self, double p) {
  infer::check_probability("bernoulli_", p);
  const Tensor numbers = uniform_numbers(self.sizes(), DType::float64, self.device());
  return overwrite_with("bernoulli_", self, less(numbers, Scalar(p)));
}

const Tensor& bernoulli_(const Tensor& self, const Tensor& p) {
  check_probabilities("bernoulli_", p);
  const Tensor numbers = uniform_numbers(self.sizes(), p.dtype(), self.device());
  const Tensor chosen = less(numbers, as_dtype(p, numbers.dtype()));
  if (!equal(chosen.sizes(), self.sizes())) {
    throw ShapeError(str("bernoulli_: p must broadcast to self, got ", infer::describe(p), " for ",
                         infer::describe(self)));
  }
  return overwrite_with("bernoulli_", self, chosen);
}

const Tensor& uniform_(const Tensor& self, double low, double high) {
  if (!(low <= high) || !std::isfinite(high - low)) {
    throw ValueError(str("uniform_: needs finite bounds with low not above high, got low ", low,
                         " and high ", high));
  }
  if (!is_complex(self.dtype())) {
    return overwrite("uniform_", kernels::rand_kernels, self, low, high);
  }
  const Tensor numbers = empty(self.sizes(), self.dtype(), self.device());
  const Tensor pairs = make_view(numbers, Shape{numbers.numel()}, Shape{1}, 0);
  fill("uniform_", kernels::rand_kernels, view_as_real(pairs), low, high);
  return overwrite_with("uniform_", self, numbers);
}

const Tensor& normal_(const Tensor& self, double mean, double std) {
  check_deviation("normal_", std);
  return overwrite("normal_", kernels::randn_kernels, self, mean, std);
}

const Tensor& exponential_(const Tensor& self, double lambd) {
  check_positive("exponential_", "lambd", lambd);
  return overwrite("exponential_", kernels::exponential_kernels, self, lambd, 0);
}

const Tensor& cauchy_(const Tensor& self, double median, double sigma) {
  check_positive("cauchy_", "sigma", sigma);
  return overwrite("cauchy_", kernels::cauchy_kernels, self, median, sigma);
}

const Tensor& log_normal_(const Tensor& self, double mean, double std) {
  check_positive("log_normal_", "std", std);
  return overwrite("log_normal_", kernels::log_normal_kernels, self, mean, std);
}

const Tensor& geometric_(const Tensor& self, double p) {
  if (!(p > 0 && p < 1)) {
    throw ValueError(str("geometric_: p must lie between 0 and 1, got ", p));
  }
  return overwrite("geometric_", kernels::geometric_kernels, self, p, 0);
}

const Tensor& random_(const Tensor& self) { return random_(self, 0, std::nullopt); }

const Tensor& random_(const Tensor& self, int64_t to) { return random_(self, 0, to); }

const Tensor& random_(const Tensor& self, int64_t low, std::optional<int64_t> to) {
  check_writable("random_", self);
  if (to)
    return overwrite_with_integers(self, low, checked_range("random_", low, *to, self.dtype()));
  const int64_t most = largest_counted(self.dtype());
  checked_range("random_", low, most, self.dtype());
  const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(low) + 1;
  return overwrite_with_integers(self, low, range);
}

namespace {

/// Lets a device look at weights and their sums by itself: what is wrong is told at the next wait.
/// False where it cannot.
bool are_watched(const Tensor& weights, int64_t num_samples, bool replacement) {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  const auto watch = [](const Tensor& numbers, double low, const char* name, const char* claim) {
    const StreamCheck check{
        .op = "multinomial", .name = name, .sizes = numbers.sizes(), .claim = claim};
    return is_range_watched(numbers, low, kMost, check);
  };
  if (!watch(weights, 0, "weights", "finite and not negative")) return false;
  const int64_t last[] = {1};
  watch(ops::sum(weights, IntSpan(last), false, std::nullopt), kLeast, "the sum of each row",
        "positive and finite");
  if (replacement) return true;
  const Tensor possible = ops::sum(greater(weights, 0), IntSpan(last), false, DType::float64);
  watch(possible, static_cast<double>(num_samples), "the number of weights above 0",
        "as large as num_samples in each row");
  return true;
}

/// Throws unless every row of `weights` [rows, categories] can be drawn from.
void check_weights(const Tensor& weights, int64_t num_samples, bool replacement) {
  if (is_meta(weights) || are_watched(weights, num_samples, replacement)) return;
  const double low = ops::min(weights).item<double>(), high = ops::max(weights).item<double>();
  if (!(low >= 0) || !std::isfinite(high)) {
    throw ValueError(str("multinomial: weights must be finite and not negative, got values from ",
                         low, " to ", high));
  }
  const auto* values = static_cast<const double*>(weights.host_data());
  for (int64_t row = 0; row < weights.size(0); ++row) {
    double sum = 0;
    int64_t possible = 0;
    for (int64_t i = 0; i < weights.size(1); ++i, ++values) {
      sum += *values;
      possible += *values > 0 ? 1 : 0;
    }
    if (!(sum > 0) || !std::isfinite(sum)) {
      throw ValueError(str("multinomial: each row needs a positive, finite sum, got a sum of ", sum,
                           " in row ", row));
    }
    if (!replacement && possible < num_samples) {
      throw ValueError(str("multinomial: without replacement each row needs ", num_samples,
                           " weights above 0, got ", possible, " in row ", row));
    }
  }
}

}  // namespace

Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement) {
  infer::check_ndim("multinomial", "input", input, 1, 2);
  if (num_samples <= 0) {
    throw ValueError(str("multinomial: num_samples must be positive, got ", num_samples));
  }
  const int64_t categories = input.size(-1), rows = input.ndim() == 1 ? 1 : input.size(0);
  if (categories == 0) {
    throw ValueError(str("multinomial: needs at least one category, got ", infer::describe(input)));
  }
  if (!replacement && num_samples > categories) {
    throw ValueError(str("multinomial: num_samples must be at most the ", categories,
                         " categories without replacement, got ", num_samples));
  }
  const Tensor dense = contiguous(as_dtype(input, DType::float64));
  const int64_t in_sizes[] = {rows, categories}, out_sizes[] = {rows, num_samples};
  const IntSpan shown = input.ndim() == 1 ? IntSpan(out_sizes).last(1) : IntSpan(out_sizes);
  const Tensor out = empty(shown, DType::int64, input.device());
  if (out.numel() == 0) return out;
  Geometry from, to;
  from.append(rows, categories);
  from.append(categories, 1);
  to.append(rows, num_samples);
  to.append(num_samples, 1);
  const Tensor weights = reshape(dense, in_sizes);
  check_weights(weights, num_samples, replacement);
  const RandomState state = random_part(weights, rows * (replacement ? num_samples : categories));
  const auto kernel = kernel_for("multinomial", kernels::multinomial_kernels, weights);
  kernel(context_of(out), state, from.over(weights), replacement, to.over(out));
  return out;
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p) {
  infer::check_probability("dropout", p);
  const Tensor dense = contiguous(input);
  const Tensor out = ebb::empty(input.sizes(), input.dtype(), input.device());
  const Tensor mask = ebb::empty(input.sizes(), DType::boolean, input.device());
  if (p == 1) {
    zero_(out);
    zero_(mask);
    return {out, mask};
  }
  const auto kernel = kernel_for("dropout", kernels::dropout_kernels, dense);
  kernel(context_of(dense), view_of(dense), random_part(out), p, view_of(out), view_of(mask));
  return {out, mask};
}

Tensor masked_scale(const Tensor& input, const Tensor& mask, double scale) {
  if (!equal(input.sizes(), mask.sizes())) {
    throw ShapeError(str("masked_scale: input and mask need one shape, got ",
                         infer::describe(input), " and ", infer::describe(mask)));
  }
  const Tensor dense = contiguous(input), chosen = contiguous(mask);
  const Tensor out = ebb::empty(input.sizes(), input.dtype(), input.device());
  const auto kernel = kernel_for("masked_scale", kernels::masked_scale_kernels, dense);
  kernel(context_of(dense), view_of(dense), view_of(chosen), scale, view_of(out));
  return out;
}

}  // namespace ebb::ops::impl
