// ebb/autograd/rules/fft.cpp -- see fft.h.
#include "ebb/autograd/rules/fft.h"

#include <array>
#include <cmath>

#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/constant_pad_nd.h"
#include "ebb/autograd/ops/fft_c2c.h"
#include "ebb/autograd/ops/fft_c2r.h"
#include "ebb/autograd/ops/fft_r2c.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/real.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/roll.h"
#include "ebb/core/base/quotes.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {
namespace {

using ops::infer::describe;

/// Half a spectrum, with the elements that stand for two multiplied by `factor`.
Tensor weighted(const Tensor& spectrum, int64_t dim, int64_t size, double factor) {
  const int64_t ends = size % 2 == 0 ? 2 : 1, inner = size / 2 + 1 - ends;
  if (inner <= 0) return spectrum;
  const DType dtype = real_type_of(spectrum.dtype());
  const Device device = spectrum.device();
  const Tensor one = full(Shape{1}, 1, dtype, device);
  const Tensor middle = full(Shape{inner}, factor, dtype, device);
  const Tensor weights =
      ends == 2 ? cat(std::array{one, middle, one}) : cat(std::array{one, middle});
  Shape shape;
  for (int i = 0; i < spectrum.ndim(); ++i) shape.push_back(1);
  shape[static_cast<int>(dim < 0 ? dim + spectrum.ndim() : dim)] = size / 2 + 1;
  return mul(spectrum, reshape(weights, shape));
}

struct Axes {
  Shape dims, sizes;  // sizes of the result of a transform of complex numbers
};

/// The dims that a call means, counted from the front, and their sizes.
Axes axes_of(const Tensor& input, Sizes s, Sizes dim) {
  Axes axes;
  const int64_t ndim = input.ndim();
  if (dim && s && dim->size() != s->size()) {
    throw ValueError(str("fft: needs as many sizes as dims, got s=", PrintShape{*s},
                         " and dim=", PrintShape{*dim}));
  }
  if (dim && !dim->empty()) {
    ops::infer::check_ndim("fft", "input", input, 1, kMaxDims);
    ops::infer::dim_mask("fft", *dim, input);
  }
  const int64_t count = dim ? std::ssize(*dim) : s ? std::ssize(*s) : ndim;
  if (count > ndim) {
    throw ValueError(str("fft: s must have at most as many sizes as input has dims, got s=",
                         PrintShape{*s}, " for ", describe(input)));
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t one = dim ? (*dim)[static_cast<size_t>(i)] : ndim - count + i;
    const int64_t place = one < 0 ? one + ndim : one;
    axes.dims.push_back(place);
    const int64_t own = input.size(place);
    const int64_t size = s ? (*s)[static_cast<size_t>(i)] : own;
    axes.sizes.push_back(size == -1 ? own : size);
  }
  return axes;
}

void check_axes(const Tensor& input, const Axes& axes) {
  for (int i = 0; i < axes.dims.ndim(); ++i) {
    if (axes.sizes[i] >= 1) continue;
    throw ValueError(str("fft: needs at least 1 element along dim ", axes.dims[i], ", got ",
                         axes.sizes[i], " for ", describe(input)));
  }
}

void check_some(const Tensor& input, const Axes& axes) {
  if (!axes.dims.empty()) return;
  throw ValueError(str("fft: needs at least one dim, got none for ", describe(input)));
}

/// Cut off or filled with zeros to `sizes`.
Tensor resized(const Tensor& input, IntSpan dims, IntSpan sizes) {
  Tensor out = input;
  Shape pads;
  bool is_padded = false;
  for (int i = 0; i < 2 * input.ndim(); ++i) pads.push_back(0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t missing = sizes[i] - input.size(dims[i]);
    if (missing < 0) out = narrow(out, dims[i], 0, sizes[i]);
    if (missing <= 0) continue;
    pads[static_cast<int>(2 * (input.ndim() - 1 - dims[i]) + 1)] = missing;
    is_padded = true;
  }
  return is_padded ? constant_pad_nd(out, pads) : out;
}

double scale_of(IntSpan sizes, Norm norm, bool forward) {
  double count = 1;
  for (const int64_t size : sizes) count *= static_cast<double>(size);
  const std::string_view name = norm.value_or("backward");
  if (name == "ortho") return 1 / std::sqrt(count);
  if (name != "backward" && name != "forward") {
    throw ValueError(str("fft: norm must be backward, ortho or forward, got ", in_quotes(name)));
  }
  return (name == "forward") == forward ? 1 / count : 1;
}

Tensor as_floating(const Tensor& input) {
  const bool is_exact = is_floating(input.dtype()) || is_complex(input.dtype());
  return is_exact ? input : cast(input, default_dtype());
}
Tensor complex_of(const Tensor& input) {
  if (is_complex(input.dtype())) return input;
  const Tensor floating = as_floating(input);
  return cast(floating, complex_type_of(floating.dtype()));
}

/// The sizes of one dim: `n`, if it is given.
class OneDim {
 public:
  OneDim(std::optional<int64_t> n, int64_t dim) : n_(n.value_or(-1)), dim_(dim) {
    if (n && *n < 1) throw ValueError(str("fft: n must be at least 1, got ", *n));
    has_n_ = n.has_value();
  }
  Sizes sizes() const { return has_n_ ? Sizes(IntSpan(&n_, 1)) : Sizes(); }
  Sizes dims() const { return IntSpan(&dim_, 1); }

 private:
  int64_t n_, dim_;
  bool has_n_;
};

}  // namespace

Tensor fft_r2c_grad(const Tensor& grad, IntSpan dim, int64_t size, double scale, bool forward,
                    bool onesided) {
  if (!onesided) return real(fft_c2c(grad, dim, scale, !forward));
  return fft_c2r(weighted(grad, dim.back(), size, 0.5), dim, size, scale, !forward);
}

Tensor fft_c2r_grad(const Tensor& grad, IntSpan dim, double scale, bool forward) {
  const int64_t size = grad.size(dim.back());
  return weighted(fft_r2c(grad, dim, scale, !forward, true), dim.back(), size, 2);
}

Tensor fft_full(const Tensor& input, Sizes s, Sizes dim, Norm norm, bool forward) {
  const Axes axes = axes_of(input, s, dim);
  check_axes(input, axes);
  const double scale = scale_of(axes.sizes, norm, forward);
  const Tensor from = resized(input, axes.dims, axes.sizes);
  if (axes.dims.empty() || is_complex(input.dtype())) {
    return fft_c2c(complex_of(from), axes.dims, scale, forward);
  }
  return fft_r2c(as_floating(from), axes.dims, scale, forward, false);
}

Tensor fft_half(const Tensor& input, Sizes s, Sizes dim, Norm norm, bool forward) {
  if (is_complex(input.dtype())) {
    throw DTypeError(str("fft: needs real numbers, got ", describe(input)));
  }
  const Axes axes = axes_of(input, s, dim);
  check_some(input, axes);
  check_axes(input, axes);
  const double scale = scale_of(axes.sizes, norm, forward);
  return fft_r2c(as_floating(resized(input, axes.dims, axes.sizes)), axes.dims, scale, forward,
                 true);
}

Tensor fft_real(const Tensor& input, Sizes s, Sizes dim, Norm norm, bool forward) {
  Axes axes = axes_of(input, s, dim);
  check_some(input, axes);
  const int last = axes.sizes.ndim() - 1;
  if (!s || s->back() == -1) axes.sizes[last] = 2 * (axes.sizes[last] - 1);
  check_axes(input, axes);
  const int64_t size = axes.sizes[last];
  const double scale = scale_of(axes.sizes, norm, forward);
  axes.sizes[last] = size / 2 + 1;
  return fft_c2r(complex_of(resized(input, axes.dims, axes.sizes)), axes.dims, size, scale,
                 forward);
}

Tensor fft_full(const Tensor& input, std::optional<int64_t> n, int64_t dim, Norm norm,
                bool forward) {
  const OneDim one(n, dim);
  return fft_full(input, one.sizes(), one.dims(), norm, forward);
}
Tensor fft_half(const Tensor& input, std::optional<int64_t> n, int64_t dim, Norm norm,
                bool forward) {
  const OneDim one(n, dim);
  return fft_half(input, one.sizes(), one.dims(), norm, forward);
}
Tensor fft_real(const Tensor& input, std::optional<int64_t> n, int64_t dim, Norm norm,
                bool forward) {
  const OneDim one(n, dim);
  return fft_real(input, one.sizes(), one.dims(), norm, forward);
}

Tensor fft_shift(const Tensor& input, Sizes dim, bool back) {
  const Axes axes = axes_of(input, std::nullopt, dim);
  Shape shifts;
  for (const int64_t size : axes.sizes) shifts.push_back(back ? (size + 1) / 2 : size / 2);
  return roll(input, shifts, axes.dims);
}

Tensor fft_frequencies(int64_t n, double d, bool onesided, std::optional<DType> dtype,
                       std::optional<Device> device) {
  if (n < 0) throw ValueError(str("fft: n must be at least 0, got ", n));
  const DType wanted = dtype.value_or(default_dtype());
  const int64_t positive = onesided ? n / 2 + 1 : n / 2 + n % 2;
  Tensor steps = arange(0, positive, 1, wanted, device);
  if (!onesided) steps = cat(std::array{steps, arange(-(n / 2), 0, 1, wanted, device)});
  return mul(steps, 1 / (static_cast<double>(n) * d));
}

}  // namespace ebb::autograd::rules
