// ebb/autograd/composites/network/pad.cpp -- pad: what is around a tensor, in four modes.
//
// A constant is an op of its own. The other modes repeat elements of the tensor: per dim, one
// index_select whose index says which. A negative count cuts off: what is reflected or repeated is
// still the whole tensor, but what goes around is what is left of it, as in PyTorch.
#include "ebb/autograd/ops/pad.h"

#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/constant_pad_nd.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/watch/composite_call.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

enum class PadMode : uint8_t { reflect, replicate, circular };

PadMode pad_mode(std::string_view mode) {
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "replicate") return PadMode::replicate;
  if (mode == "circular") return PadMode::circular;
  throw ValueError(str("pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got ",
                       in_quotes(mode)));
}

/// The largest count on either side of a dim with `size` elements.
int64_t largest_pad(PadMode mode, int64_t size) {
  if (size == 0) return 0;
  if (mode == PadMode::reflect) return size - 1;
  return mode == PadMode::circular ? size : (int64_t{1} << 40);
}

/// Which element of a dim with `size` elements stands at `place`, counted from its first.
int64_t source_of(PadMode mode, int64_t place, int64_t size) {
  switch (mode) {
    case PadMode::reflect:
      return place < 0 ? -place : place < size ? place : 2 * (size - 1) - place;
    case PadMode::replicate: return std::clamp<int64_t>(place, 0, size - 1);
    case PadMode::circular: break;
  }
  return place < 0 ? place + size : place < size ? place : place - size;
}

/// Throws ValueError unless counts fit to a dim with `size` elements.
void check_counts(PadMode mode, std::string_view name, int64_t size, IntSpan counts) {
  const bool goes_around = mode == PadMode::circular;
  const int64_t cut = std::min<int64_t>(counts[0], 0) + std::min<int64_t>(counts[1], 0);
  const int64_t most = largest_pad(mode, goes_around ? std::max<int64_t>(size + cut, 0) : size);
  if (std::max(counts[0], counts[1]) > most) {
    throw ValueError(str("pad: mode ", name, " needs counts of at most ", most, " for a size of ",
                         size, ", got ", PrintShape{counts}));
  }
  // Each alone first: the sum of any two could overflow.
  if (std::min(counts[0], counts[1]) >= -size && size + counts[0] + counts[1] >= 0 &&
      size + cut >= 0) {
    return;
  }
  throw ValueError(str("pad: counts must leave a size of at least 0, got ", PrintShape{counts},
                       " for a size of ", size));
}

Tensor padded_along(const Tensor& input, int dim, PadMode mode, int64_t before, int64_t after) {
  if (mode == PadMode::circular && (before < 0 || after < 0)) {
    const int64_t first = std::max<int64_t>(-before, 0), last = std::max<int64_t>(-after, 0);
    const Tensor left = narrow(input, dim, first, input.size(dim) - first - last);
    return padded_along(left, dim, mode, before + first, after + last);
  }
  const int64_t size = input.size(dim);
  const Shape shape = {before + size + after};
  if (is_meta(input)) return index_select(input, dim, empty(shape, DType::int64, input.device()));
  const Tensor index = empty(shape, DType::int64);
  auto* const values = index.data<int64_t>();
  for (int64_t i = 0; i < index.numel(); ++i) values[i] = source_of(mode, i - before, size);
  return index_select(input, dim, to_device(index, input.device()));
}

}  // namespace

Tensor pad(const Tensor& input, IntSpan pad, std::string_view mode, std::optional<Scalar> value) {
  const autograd::CompositeCall call("pad", __builtin_return_address(0));
  ops::infer::check_defined("pad", "input", input);
  if (mode == "constant") return constant_pad_nd(input, pad, value.value_or(0));
  const PadMode kind = pad_mode(mode);
  if (value) throw ValueError(str("pad: mode ", mode, " takes no value, got ", *value));
  if (pad.size() % 2 != 0 || pad.size() > 2 * static_cast<size_t>(input.ndim())) {
    throw ValueError(str("pad: pad needs two counts for each of the last dims, got ",
                         PrintShape{pad}, " for input ", ops::infer::describe(input)));
  }
  for (size_t pair = 0; pair < pad.size(); pair += 2) {
    check_counts(kind, mode, input.size(-1 - static_cast<int64_t>(pair / 2)), pad.subspan(pair, 2));
  }
  Tensor out = input;
  for (size_t pair = 0; pair < pad.size(); pair += 2) {
    if (pad[pair] == 0 && pad[pair + 1] == 0) continue;
    const int dim = input.ndim() - 1 - static_cast<int>(pair / 2);
    out = padded_along(out, dim, kind, pad[pair], pad[pair + 1]);
  }
  return out.is_same(input) ? clone(input) : out;
}

}  // namespace ebb
