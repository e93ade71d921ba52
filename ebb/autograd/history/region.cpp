// ebb/autograd/history/region.cpp -- see region.h.
#include "ebb/autograd/history/region.h"

#include <algorithm>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/as_strided.h"
#include "ebb/autograd/ops/as_strided_scatter.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/div.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/ones.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/strided_sum.h"
#include "ebb/autograd/ops/view_as_complex.h"
#include "ebb/autograd/ops/view_as_real.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zero_.h"
#include "ebb/autograd/ops/zeros.h"

namespace ebb::autograd {
namespace {

/// The places from the lowest to behind the highest element of what was added.
struct Window {
  int64_t low = INT64_MAX;
  int64_t high = INT64_MIN;

  void add(IntSpan sizes, IntSpan strides, int64_t offset) {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
    int64_t lowest = offset;
    int64_t highest = offset;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      const int64_t reach = (sizes[dim] - 1) * strides[dim];
      (reach < 0 ? lowest : highest) += reach;
    }
    low = std::min(low, lowest);
    high = std::max(high, highest + 1);
  }
  bool is_empty() const { return low >= high; }
};

int64_t offset_of(const TensorImpl& impl) {
  const auto* const start = static_cast<const char*>(impl.storage->data());
  const auto item = static_cast<int64_t>(item_size(impl.dtype));
  return (static_cast<const char*>(impl.data) - start) / item;
}

/// Sizes, strides and first place; with a last dim of both parts if they are those of pairs.
struct RegionLayout {
  int64_t sizes[kMaxDims + 1];
  int64_t strides[kMaxDims + 1];
  size_t ndim;
  int64_t offset;

  RegionLayout(IntSpan shape, IntSpan steps, int64_t first, bool has_pairs)
      : ndim(shape.size()), offset(has_pairs ? 2 * first : first) {
    std::copy(shape.begin(), shape.end(), sizes);
    std::copy(steps.begin(), steps.end(), strides);
    if (!has_pairs) return;
    for (size_t dim = 0; dim < ndim; ++dim) strides[dim] *= 2;
    sizes[ndim] = 2;
    strides[ndim++] = 1;
  }
  IntSpan size_span() const { return {sizes, ndim}; }
  IntSpan stride_span() const { return {strides, ndim}; }
};

PackedRegion packed(const RegionLayout& base, const RegionLayout& region, Pairs pairs) {
  Window window;
  window.add(base.size_span(), base.stride_span(), base.offset);
  window.add(region.size_span(), region.stride_span(), region.offset);
  const int64_t low = window.is_empty() ? base.offset : window.low;
  PackedRegion row;
  const int64_t header[] = {static_cast<int64_t>(pairs),
                            static_cast<int64_t>(base.ndim),
                            static_cast<int64_t>(region.ndim),
                            base.offset - low,
                            region.offset - low,
                            window.is_empty() ? 0 : window.high - low};
  for (const IntSpan part : {IntSpan(header), base.size_span(), base.stride_span(),
                             region.size_span(), region.stride_span()}) {
    std::copy(part.begin(), part.end(), row.values + row.count);
    row.count += part.size();
  }
  return row;
}

}  // namespace

PackedRegion packed_region(const Tensor& base, IntSpan sizes, IntSpan strides,
                           std::optional<int64_t> storage_offset) {
  const int64_t first = base.storage_offset();
  return packed({base.sizes(), base.strides(), first, false},
                {sizes, strides, storage_offset.value_or(first), false}, Pairs::none);
}

PackedRegion packed_region(const TensorImpl& base, const TensorImpl& view) {
  const bool differ = is_complex(base.dtype) != is_complex(view.dtype);
  const Pairs pairs = !differ ? Pairs::none : is_complex(base.dtype) ? Pairs::base : Pairs::region;
  return packed(
      {base.shape(), {base.strides(), base.ndim}, offset_of(base), pairs == Pairs::base},
      {view.shape(), {view.strides(), view.ndim}, offset_of(view), pairs == Pairs::region}, pairs);
}

Region::Region(IntSpan packed)
    : pairs_(static_cast<Pairs>(packed[0])),
      base_offset_(packed[3]),
      offset_(packed[4]),
      length_(packed[5]) {
  const auto base_ndim = static_cast<size_t>(packed[1]);
  const auto ndim = static_cast<size_t>(packed[2]);
  const IntSpan geometry = packed.subspan(PackedRegion::kHeader);
  base_sizes_ = geometry.first(base_ndim);
  base_strides_ = geometry.subspan(base_ndim, base_ndim);
  sizes_ = geometry.subspan(2 * base_ndim, ndim);
  strides_ = geometry.last(ndim);
  is_plain_ = base_offset_ == 0 && length_ == numel_of(base_sizes_) &&
              is_contiguous(base_sizes_, base_strides_);
}

Tensor Region::in_pairs(const Tensor& tensor, Pairs whose) const {
  return pairs_ == whose ? view_as_real(tensor) : tensor;
}

Tensor Region::out_of_pairs(const Tensor& tensor, Pairs whose) const {
  return pairs_ == whose ? as_complex(tensor) : tensor;
}

bool Region::base_overlaps() const { return may_overlap_itself(base_sizes_, base_strides_); }

/// A gradient of the base as memory: where elements of the base share a place, their sum.
Tensor Region::spread(const Tensor& grad) const {
  if (is_plain_) return reshape(grad, Shape{length_});
  return strided_sum(grad, length_, base_strides_, base_offset_);
}

/// What elements of the base find in memory.
Tensor Region::gathered(const Tensor& window) const {
  if (is_plain_) return reshape(window, base_sizes_);
  return strided_read(window, base_sizes_, base_strides_, base_offset_);
}

Tensor Region::scattered(const Tensor& given) const {
  const Tensor grad = in_pairs(given, Pairs::region);
  const Tensor found = gathered(strided_sum(grad, length_, strides_, offset_));
  if (!base_overlaps()) return out_of_pairs(found, Pairs::base);
  // Elements at one place are one value: each gets its share of the gradient.
  Tensor owners;
  {
    const NoGradGuard guard;
    owners = gathered(spread(ones(base_sizes_, grad.dtype(), grad.device())));
  }
  return out_of_pairs(div(found, owners), Pairs::base);
}

Tensor Region::read(const Tensor& given) const {
  const Tensor grad = in_pairs(given, Pairs::base);
  return out_of_pairs(strided_read(spread(grad), sizes_, strides_, offset_), Pairs::region);
}

Tensor Region::read_tangent(const Tensor& tangent) const {
  if (!base_overlaps()) return read(tangent);
  const Tensor sums = in_pairs(read(tangent), Pairs::region);
  Tensor owners;
  {
    const NoGradGuard guard;
    const Tensor marks = spread(ones(base_sizes_, sums.dtype(), sums.device()));
    const Tensor counts = strided_read(marks, sizes_, strides_, offset_);
    owners = where(ne(counts, zeros({}, sums.dtype(), sums.device())), counts,
                   ones({}, sums.dtype(), sums.device()));
  }
  return out_of_pairs(div(sums, owners), Pairs::region);
}

Tensor Region::written_tangent(const Tensor& tangent) const {
  const Tensor given = in_pairs(tangent, Pairs::region);
  return out_of_pairs(gathered(strided_sum(given, length_, strides_, offset_)), Pairs::base);
}

Tensor Region::cleared(const Tensor& given) const {
  const Tensor grad = in_pairs(given, Pairs::base);
  const Tensor zero = zeros({}, grad.dtype(), grad.device());
  if (!base_overlaps()) {
    const Tensor window = contiguous(spread(grad));
    const Tensor rest = as_strided_scatter(window, expand(zero, sizes_), sizes_, strides_,
                                           window.storage_offset() + offset_);
    return out_of_pairs(gathered(rest), Pairs::base);
  }
  Tensor is_hit;
  {
    const NoGradGuard guard;
    const Tensor marks = ones(sizes_, grad.dtype(), grad.device());
    is_hit = ne(gathered(strided_sum(marks, length_, strides_, offset_)), zero);
  }
  return out_of_pairs(where(is_hit, zero, grad), Pairs::base);
}

void Region::clear_in_place(const Tensor& given) const {
  const Tensor grad = in_pairs(given, Pairs::base);
  zero_(make_alias(grad, sizes_, strides_, grad.storage_offset() + offset_));
}

Tensor strided_read(const Tensor& input, IntSpan sizes, IntSpan strides, int64_t offset) {
  const Tensor row = contiguous(input);
  return as_strided(row, sizes, strides, row.storage_offset() + offset);
}

Tensor as_complex(const Tensor& pairs) {
  const Tensor row = contiguous(pairs);
  // A part of other memory may begin between two pairs.
  return view_as_complex(row.storage_offset() % 2 == 0 ? row : clone(row));
}

}  // namespace ebb::autograd
