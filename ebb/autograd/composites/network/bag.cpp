// ebb/autograd/composites/network/bag.cpp -- embedding_bag: rows that are looked up, bag by bag.
//
// Which rows count, and for which bag, is worked out first; sums and means then add the rows up at
// their bags, and maxima are taken of as many rows for each bag as the longest has. Devices go
// another way (bag_on_device.h), as the host would have to wait to work that out.
#include "ebb/autograd/operands/bag.h"

#include "ebb/autograd/composites/integers.h"
#include "ebb/autograd/composites/network/bag_on_device.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/embedding.h"
#include "ebb/autograd/ops/embedding_bag.h"
#include "ebb/autograd/ops/embedding_sparse.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/ops/index_check.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using autograd::BagMode;
using autograd::integers_of;
using ops::infer::describe;

constexpr const char* kOp = "embedding_bag";

BagMode bag_mode(std::string_view mode) {
  if (mode == "sum") return BagMode::sum;
  if (mode == "mean") return BagMode::mean;
  if (mode == "max") return BagMode::max;
  throw ValueError(str(kOp, ": mode must be 'sum', 'mean' or 'max', got ", in_quotes(mode)));
}

Tensor index_of(const std::vector<int64_t>& values, Device device) {
  const Tensor index = empty(Shape{static_cast<int64_t>(values.size())}, DType::int64);
  std::copy(values.begin(), values.end(), index.data<int64_t>());
  return to_device(index, device);
}

/// Throws unless bags are rows of indices, or offsets say where they begin.
void check_kind(const Tensor& indices, const Tensor& offsets) {
  if (indices.ndim() == 2) {
    if (!offsets.defined()) return;
    throw ShapeError(str(kOp, ": indices of two dims take no offsets, got ", describe(offsets)));
  }
  if (!offsets.defined()) throw ValueError(str(kOp, ": indices of one dim need offsets"));
  ops::infer::check_ndim(kOp, "offsets", offsets, 1, 1);
}

/// Where each bag begins, and where the last one ends.
std::vector<int64_t> bounds_of(const Tensor& indices, const Tensor& offsets,
                               bool include_last_offset) {
  std::vector<int64_t> bounds;
  if (indices.ndim() == 2) {
    for (int64_t i = 0; i <= indices.size(0); ++i) bounds.push_back(i * indices.size(1));
    return bounds;
  }
  bounds = integers_of(offsets);
  if (!include_last_offset) bounds.push_back(indices.numel());
  int64_t least = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i] < least || (i == 0 && bounds[i] != 0)) {
      throw ValueError(str(kOp, ": offsets must begin with 0 and not fall, got ", bounds[i],
                           " at position ", i));
    }
    if (bounds[i] > indices.numel()) {
      throw ValueError(str(kOp, ": offsets must be at most ", indices.numel(), ", got ", bounds[i],
                           " at position ", i));
    }
    least = bounds[i];
  }
  if (bounds.empty()) {
    throw ValueError(str(kOp, ": offsets need an element with include_last_offset, got none"));
  }
  return bounds;
}

/// The places in indices that count, bag by bag.
struct Bags {
  std::vector<int64_t> places, bag_of, counts;
  int64_t longest = 0;

  Bags(const std::vector<int64_t>& rows, const std::vector<int64_t>& bounds, int64_t padding_idx) {
    for (size_t bag = 0; bag + 1 < bounds.size(); ++bag) {
      int64_t count = 0;
      for (int64_t place = bounds[bag]; place < bounds[bag + 1]; ++place) {
        if (padding_idx >= 0 && rows[static_cast<size_t>(place)] == padding_idx) continue;
        places.push_back(place);
        bag_of.push_back(static_cast<int64_t>(bag));
        ++count;
      }
      counts.push_back(count);
      longest = std::max(longest, count);
    }
  }

  int64_t number() const { return static_cast<int64_t>(counts.size()); }
};

Tensor maxima(const Tensor& weight, const Tensor& flat, const Bags& bags) {
  const int64_t width = weight.size(1);
  if (bags.longest == 0) return zeros({bags.number(), width}, weight.dtype(), weight.device());
  // Bags that are shorter repeat their last place, which changes no maximum.
  std::vector<int64_t> places;
  size_t next = 0;
  for (const int64_t count : bags.counts) {
    const auto first = next;
    for (int64_t i = 0; i < bags.longest; ++i) {
      const auto at = first + static_cast<size_t>(std::min(i, count - 1));
      places.push_back(count > 0 ? bags.places[at] : 0);
    }
    next += static_cast<size_t>(count);
  }
  const Tensor chosen = index_select(flat, 0, index_of(places, flat.device()));
  const Tensor rows = reshape(embedding(weight, chosen), {bags.number(), bags.longest, width});
  const Tensor is_empty = unsqueeze(index_of(bags.counts, weight.device()), 1) < 1;
  return where(is_empty, 0, std::get<0>(max(rows, 1)));
}

/// What comes out where nobody can tell which rows are in which bag: shape, dtype and history.
Tensor shape_of_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                     const Tensor& per_sample_weights, bool include_last_offset) {
  const int64_t bags =
      indices.ndim() == 2 ? indices.size(0) : offsets.numel() - (include_last_offset ? 1 : 0);
  Tensor rows = embedding(weight, reshape(indices, {indices.numel()}));
  if (per_sample_weights.defined()) {
    rows = rows * reshape(per_sample_weights, {indices.numel(), 1});
  }
  const Tensor none = zeros({bags, weight.size(1)}, rows.dtype(), weight.device());
  return index_add(none, 0, empty({indices.numel()}, DType::int64, weight.device()), rows);
}

}  // namespace

Tensor embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                     std::string_view mode, const Tensor& per_sample_weights,
                     bool include_last_offset, int64_t padding_idx, bool sparse) {
  const autograd::operands::embedding_bag call(weight, indices, offsets, per_sample_weights);
  ops::infer::check_ndim(kOp, "weight", weight, 2, 2);
  ops::infer::check_ndim(kOp, "indices", indices, 1, 2);
  const BagMode kind = bag_mode(mode);
  if (per_sample_weights.defined() && kind != BagMode::sum) {
    throw ValueError(str(kOp, ": per_sample_weights need mode 'sum', got ", in_quotes(mode)));
  }
  if (sparse && kind == BagMode::max) {
    throw ValueError(str(kOp, ": sparse needs mode 'sum' or 'mean', got ", in_quotes(mode)));
  }
  if (per_sample_weights.defined() && !equal(per_sample_weights.sizes(), indices.sizes())) {
    throw ShapeError(str(kOp, ": per_sample_weights need the shape of indices, got ",
                         describe(per_sample_weights), " for ", describe(indices)));
  }
  check_kind(indices, offsets);
  if (is_meta(weight) || is_meta(indices)) {
    return shape_of_bags(weight, indices, offsets, per_sample_weights, include_last_offset);
  }
  if (!is_on_host(weight)) {
    const bool can_look = offsets.defined() && (is_on_host(offsets) || offsets.numel() == 0);
    if (can_look) bounds_of(indices, offsets, include_last_offset);
    return autograd::embedding_bag_on_device({weight, indices, offsets, per_sample_weights, kind,
                                              include_last_offset, padding_idx, sparse});
  }
  const std::vector<int64_t> bounds = bounds_of(indices, offsets, include_last_offset);
  const Tensor flat = reshape(cast(indices, DType::int64), {indices.numel()});
  ops::check_index_range(kOp, "indices", flat, weight.size(0));
  const Bags bags(integers_of(flat), bounds, padding_idx);
  if (kind == BagMode::max) return maxima(weight, flat, bags);
  const Tensor places = index_of(bags.places, weight.device());
  const Tensor counted = index_select(flat, 0, places);
  Tensor rows = sparse ? embedding_sparse(weight, counted) : embedding(weight, counted);
  if (per_sample_weights.defined()) {
    const Tensor factors = reshape(per_sample_weights, {indices.numel()});
    rows = rows * unsqueeze(index_select(factors, 0, places), 1);
  }
  const DType dtype = rows.dtype();
  if (kind == BagMode::mean) rows = autograd::widened(rows);
  const Tensor none = zeros({bags.number(), weight.size(1)}, rows.dtype(), weight.device());
  const Tensor sums = index_add(none, 0, index_of(bags.bag_of, weight.device()), rows);
  if (kind == BagMode::sum) return sums;
  std::vector<int64_t> divisors;
  for (const int64_t count : bags.counts) divisors.push_back(std::max<int64_t>(1, count));
  const Tensor counts = cast(index_of(divisors, weight.device()), sums.dtype());
  return autograd::narrowed(sums / unsqueeze(counts, 1), dtype);
}

}  // namespace ebb
