// ebb/autograd/rules/signal.cpp -- see signal.h.
//
// Pieces of a signal are a view of it, [batch, pieces, size]; what adds them up again is the
// adjoint of that view.
#include "ebb/autograd/rules/signal.h"

#include <cmath>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/abs.h"
#include "ebb/autograd/ops/amin.h"
#include "ebb/autograd/ops/as_strided.h"
#include "ebb/autograd/ops/constant_pad_nd.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/fft_c2c.h"
#include "ebb/autograd/ops/fft_c2r.h"
#include "ebb/autograd/ops/fft_r2c.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/pad.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/strided_sum.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/view_as_real.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::rules {
namespace {

using ops::infer::check_ndim;
using ops::infer::describe;

/// How a signal is cut: into pieces of `size`, each `hop` behind the one before it, of which the
/// window sees `seen` elements in the middle.
struct Pieces {
  int64_t size, hop, seen;

  Pieces(int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length)
      : size(n_fft), hop(hop_length.value_or(n_fft / 4)), seen(win_length.value_or(n_fft)) {
    if (size < 1) throw ValueError(str("stft: n_fft must be at least 1, got ", size));
    if (hop < 1) throw ValueError(str("stft: hop_length must be at least 1, got ", hop));
    if (seen < 1 || seen > size) {
      throw ValueError(str("stft: win_length must be from 1 to n_fft, got ", seen, " and ", size));
    }
  }
  int64_t before() const { return (size - seen) / 2; }
  /// The window with zeros around it; undefined if it is 1 everywhere.
  Tensor window(const Tensor& given, const Tensor& input) const {
    Tensor found = given;
    if (!given.defined()) {
      if (seen == size) return given;
      found = ones(Shape{seen}, real_type_of(input.dtype()), input.device());
    }
    if (found.ndim() != 1 || found.numel() != seen) {
      throw ShapeError(str("stft: window needs win_length elements, got ", describe(found),
                           " for win_length ", seen));
    }
    if (seen == size) return found;
    return constant_pad_nd(found, Shape{before(), size - seen - before()});
  }
  /// What divides by the size, half of it in each direction.
  double root() const { return 1 / std::sqrt(static_cast<double>(size)); }
};

/// The pieces of each row of `signal`, as a view of it if it is contiguous.
Tensor cut(const Tensor& signal, const Pieces& pieces) {
  const int64_t length = signal.size(1);
  if (pieces.size > length) {
    throw ShapeError(str("stft: n_fft must be at most the length of the signal, got ", pieces.size,
                         " and ", length));
  }
  const int64_t hop = std::min(pieces.hop, length);
  const int64_t count = 1 + (length - pieces.size) / hop;
  return as_strided(contiguous(signal), Shape{signal.size(0), count, pieces.size},
                    Shape{length, hop, 1});
}

/// The signals of which [batch, count, size] are pieces, added up where these overlap.
Tensor overlapped(const Tensor& pieces, int64_t hop) {
  const int64_t batch = pieces.size(0), length = pieces.size(2) + hop * (pieces.size(1) - 1);
  return reshape(strided_sum(pieces, batch * length, Shape{length, hop, 1}, 0),
                 Shape{batch, length});
}

bool is_complex_window(const Tensor& window) {
  return window.defined() && is_complex(window.dtype());
}

/// Throws ValueError if there is an element that no window reaches.
void check_reached(const Tensor& squares) {
  if (squares.numel() == 0 || is_meta(squares)) return;
  const double least = amin(abs(detach(squares))).item<double>();
  if (least >= 1e-11) return;
  throw ValueError(str("istft: needs windows that leave no gap, got squares that sum up to ", least,
                       " at some element"));
}

Tensor spectrum(const Tensor& pieces, double scale, bool onesided) {
  const Shape last = {2};
  if (is_complex(pieces.dtype())) return fft_c2c(pieces, last, scale, true);
  return fft_r2c(pieces, last, scale, true, onesided);
}

/// Throws unless the arguments of istft fit each other.
void check_istft(const Tensor& input, const Pieces& pieces, const Tensor& window, bool is_half,
                 std::optional<int64_t> length, bool return_complex) {
  if (pieces.hop > pieces.seen) {
    throw ValueError(str("istft: hop_length must be at most win_length, got ", pieces.hop, " and ",
                         pieces.seen));
  }
  if (input.numel() == 0) {
    throw ShapeError(str("istft: input must not be empty, got ", describe(input)));
  }
  if (length && *length < 0) {
    throw ValueError(str("istft: length must be at least 0, got ", *length));
  }
  const int64_t frequencies = is_half ? pieces.size / 2 + 1 : pieces.size;
  if (input.size(-2) != frequencies) {
    throw ShapeError(
        str("istft: input needs ", frequencies, " frequencies, got ", describe(input)));
  }
  if (return_complex && is_half) {
    throw ValueError("istft: return_complex needs all frequencies, got onesided");
  }
  if (is_complex_window(window) && !return_complex) {
    throw ValueError("istft: a complex window needs return_complex=True, got False");
  }
}

/// [batch, count, size], complex, or real of the first half of the frequencies.
Tensor pieces_of(const Tensor& spectra, int64_t size, double scale, bool is_complex_signal) {
  const Shape last = {2};
  if (is_complex_signal) return fft_c2c(spectra, last, scale, false);
  return fft_c2r(narrow(spectra, 2, 0, size / 2 + 1), last, size, scale, false);
}

}  // namespace

Tensor stft(const Tensor& input, int64_t n_fft, std::optional<int64_t> hop_length,
            std::optional<int64_t> win_length, const Tensor& window, bool center,
            std::string_view pad_mode, bool normalized, std::optional<bool> onesided,
            std::optional<bool> return_complex, std::optional<bool> align_to_window) {
  check_ndim("stft", "input", input, 1, 2);
  const Pieces pieces(n_fft, hop_length, win_length);
  if (center && align_to_window) {
    throw ValueError("stft: align_to_window needs center=False, got center=True");
  }
  const bool has_complex = is_complex(input.dtype()) || is_complex_window(window);
  if (!has_complex && !return_complex) {
    throw ValueError("stft: a real signal needs return_complex, got None");
  }
  if (has_complex && onesided.value_or(false)) {
    throw ValueError(str("stft: onesided needs a real signal and a real window, got ",
                         is_complex(input.dtype()) ? input.dtype() : window.dtype()));
  }
  const bool is_batch = input.ndim() == 2;
  Tensor signal = is_batch ? input : unsqueeze(input, 0);
  if (center) signal = pad(signal, Shape{n_fft / 2, n_fft / 2}, pad_mode);
  if (align_to_window.value_or(false)) {
    signal = constant_pad_nd(signal, Shape{pieces.before(), n_fft - pieces.seen - pieces.before()});
  }
  const Tensor weights = pieces.window(window, input);
  Tensor found = cut(signal, pieces);
  if (weights.defined()) found = found * weights;
  found = transpose(
      spectrum(found, normalized ? pieces.root() : 1, onesided.value_or(!has_complex)), 1, 2);
  if (!is_batch) found = squeeze(found, 0);
  return return_complex.value_or(true) ? found : view_as_real(found);
}

Tensor istft(const Tensor& input, int64_t n_fft, std::optional<int64_t> hop_length,
             std::optional<int64_t> win_length, const Tensor& window, bool center, bool normalized,
             std::optional<bool> onesided, std::optional<int64_t> length, bool return_complex) {
  check_ndim("istft", "input", input, 2, 3);
  const Pieces pieces(n_fft, hop_length, win_length);
  check_istft(input, pieces, window, onesided.value_or(n_fft != input.size(-2)), length,
              return_complex);
  const bool is_batch = input.ndim() == 3;
  const Tensor spectra = transpose(is_batch ? input : unsqueeze(input, 0), 1, 2);
  const double scale = normalized ? pieces.root() : 1 / static_cast<double>(n_fft);
  Tensor weighted = pieces_of(spectra, n_fft, scale, return_complex);
  Tensor weights = pieces.window(window, input);
  if (weights.defined()) weighted = weighted * weights;
  if (!weights.defined()) weights = ones(Shape{n_fft}, real_type_of(input.dtype()), input.device());
  const Tensor squares =
      overlapped(expand(weights * weights, Shape{1, spectra.size(1), n_fft}), pieces.hop);
  const int64_t start = center ? n_fft / 2 : 0, left = squares.size(1) - 2 * start;
  const int64_t count = length ? std::min(squares.size(1) - start, *length) : left;
  const Tensor reached = narrow(squares, 1, start, count);
  check_reached(reached);
  Tensor found = narrow(overlapped(weighted, pieces.hop), 1, start, count) / reached;
  if (length && *length > count) found = constant_pad_nd(found, Shape{0, *length - count});
  return is_batch ? found : squeeze(found, 0);
}

}  // namespace ebb::autograd::rules
