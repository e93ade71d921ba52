// ebb/autograd/composites/network/bag_on_device.cpp -- embedding_bag by sizes that are known
// without elements.
//
// All rows are looked up, also those that do not count: they become 0 for sums and the least number
// for maxima. Bags that are rows of indices are then reduced as such. Others get their rows by an
// index, which bag each is in; the rows behind the last bag go to one more, which is dropped.
#include "ebb/autograd/composites/network/bag_on_device.h"

#include <limits>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/arange.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/clamp_min.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/embedding.h"
#include "ebb/autograd/ops/embedding_sparse.h"
#include "ebb/autograd/ops/eq.h"
#include "ebb/autograd/ops/expand.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/autograd/ops/gather.h"
#include "ebb/autograd/ops/index_add.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/autograd/ops/isnan.h"
#include "ebb/autograd/ops/logical_or.h"
#include "ebb/autograd/ops/max.h"
#include "ebb/autograd/ops/narrow.h"
#include "ebb/autograd/ops/ne.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/scatter_amax.h"
#include "ebb/autograd/ops/scatter_amin.h"
#include "ebb/autograd/ops/searchsorted.h"
#include "ebb/autograd/ops/sub.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/where.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/core/device/stream_checks.h"
#include "ebb/ops/index_check.h"

namespace ebb::autograd {
namespace {

constexpr double kLeast = -std::numeric_limits<double>::infinity();

/// The rows that indices name, each times its factor, in the order of `flat`.
Tensor looked_up(const BagCall& call, const Tensor& flat) {
  const Tensor rows = call.sparse ? embedding_sparse(call.weight, flat, call.padding_idx)
                                  : embedding(call.weight, flat);
  if (!call.per_sample_weights.defined()) return rows;
  return rows * reshape(call.per_sample_weights, {flat.numel(), 1});
}

/// [N, 1]: which places count; undefined: all.
Tensor counted(const BagCall& call, const Tensor& flat) {
  return call.padding_idx < 0 ? Tensor() : unsqueeze(ne(flat, Scalar(call.padding_idx)), 1);
}

Tensor with_others(const Tensor& rows, const Tensor& counts, double others) {
  return counts.defined() ? where(counts, rows, Scalar(others)) : rows;
}

/// How `sums`, float32 of half types, become means of as many rows as `counts`, int64, says.
Tensor shared_out(const BagCall& call, const Tensor& sums, const Tensor& counts) {
  const Tensor means = sums / cast(clamp_min(counts, Scalar(1)), sums.dtype());
  return narrowed(means, call.weight.dtype());
}

/// Each row of indices is a bag.
Tensor over_rows(const BagCall& call, const Tensor& flat) {
  const int64_t bags = call.indices.size(0), length = call.indices.size(1);
  const int64_t width = call.weight.size(1), along[] = {1};
  const Tensor counts = counted(call, flat);
  const auto by_bag = [&](const Tensor& rows, int64_t size) {
    return reshape(rows, {bags, length, size});
  };
  const auto number = [&] {
    if (!counts.defined()) {
      return full(Shape{bags, 1}, length, DType::int64, call.weight.device());
    }
    return sum(by_bag(cast(counts, DType::int64), 1), IntSpan(along), false);
  };
  const Tensor looked = looked_up(call, flat);
  const Tensor rows = call.mode == BagMode::mean ? widened(looked) : looked;
  if (call.mode == BagMode::max) {
    if (length == 0) return zeros({bags, width}, rows.dtype(), rows.device());
    const Tensor most = std::get<0>(max(by_bag(with_others(rows, counts, kLeast), width), 1));
    return counts.defined() ? where(eq(number(), 0), 0, most) : most;
  }
  const Tensor sums = sum(by_bag(with_others(rows, counts, 0), width), IntSpan(along), false);
  return call.mode == BagMode::sum ? sums : shared_out(call, sums, number());
}

/// Throws ValueError unless `offsets`, on a device, begin with 0, never fall and end by `most`.
void check_offsets(const Tensor& offsets, int64_t most) {
  const int64_t count = offsets.numel();
  const auto check = [&](const Tensor& numbers, int64_t size, const char* name, const char* claim) {
    if (numbers.numel() == 0) return;
    ops::check_whole(numbers, {.op = "embedding_bag",
                               .name = name,
                               .sizes = numbers.sizes(),
                               .size = size,
                               .claim = claim,
                               .is_whole = true});
  };
  check(narrow(offsets, 0, 0, 1), 1, "the first of offsets", "0");
  check(narrow(offsets, 0, 1, count - 1) - narrow(offsets, 0, 0, count - 1),
        std::numeric_limits<int64_t>::max(), "steps between offsets", "at least 0");
  const std::string claim = str("at most ", most);
  check(narrow(offsets, 0, count - 1, 1), most + 1, "the last of offsets", claim.c_str());
}

/// The first of the rows of each bag, which `bag_of` gives, that has the bag's maximum: as many
/// as `bags`, times the width. Bags without rows have any.
Tensor first_largest(const Tensor& rows, const Tensor& bag_of, int64_t bags) {
  const int64_t count = rows.size(0), width = rows.size(1);
  const Tensor none = full(Shape{bags, width}, kLeast, rows.dtype(), rows.device());
  const Tensor index = expand(bag_of, {count, width});
  const Tensor largest =
      index_select(scatter_amax(none, 0, index, rows), 0, reshape(bag_of, {count}));
  const Tensor has_it = logical_or(eq(rows, largest), isnan(rows));
  const Tensor place = unsqueeze(arange(Scalar(count), DType::int64, rows.device()), 1);
  const Tensor last = full(Shape{bags, width}, count - 1, DType::int64, rows.device());
  return scatter_amin(last, 0, index, where(has_it, place, Scalar(count - 1)));
}

/// Bags begin at offsets.
Tensor over_offsets(const BagCall& call, const Tensor& flat, const Tensor& offsets) {
  const int64_t count = flat.numel(), width = call.weight.size(1);
  const int64_t bags = offsets.numel() - (call.include_last_offset ? 1 : 0);
  const Tensor places = arange(Scalar(count), DType::int64, flat.device());
  const Tensor bag_of = searchsorted(offsets, places, false, true) - 1;
  const Tensor counts = counted(call, flat);
  const auto added = [&](const Tensor& rows) {
    const Tensor none = zeros({bags + 1, rows.size(1)}, rows.dtype(), rows.device());
    return narrow(index_add(none, 0, bag_of, rows), 0, 0, bags);
  };
  const auto number = [&] {
    return added(counts.defined() ? cast(counts, DType::int64)
                                  : full(Shape{count, 1}, 1, DType::int64, flat.device()));
  };
  const Tensor looked = looked_up(call, flat);
  const Tensor rows = call.mode == BagMode::mean ? widened(looked) : looked;
  if (call.mode == BagMode::max) {
    if (count == 0) return zeros({bags, width}, rows.dtype(), rows.device());
    const Tensor counting = with_others(rows, counts, kLeast);
    const Tensor first = first_largest(detach(counting), unsqueeze(bag_of, 1), bags + 1);
    const Tensor most = gather(counting, 0, narrow(first, 0, 0, bags));
    return where(eq(number(), 0), 0, most);
  }
  const Tensor sums = added(with_others(rows, counts, 0));
  return call.mode == BagMode::sum ? sums : shared_out(call, sums, number());
}

}  // namespace

Tensor embedding_bag_on_device(const BagCall& call) {
  const Tensor flat = reshape(cast(call.indices, DType::int64), {call.indices.numel()});
  ops::check_index_range("embedding_bag", "indices", flat, call.weight.size(0));
  if (call.indices.ndim() == 2) return over_rows(call, flat);
  const Tensor offsets = to_device(cast(call.offsets, DType::int64), flat.device());
  const bool is_checked = is_on_host(call.offsets) || offsets.numel() == 0;
  if (!is_checked) check_offsets(offsets, flat.numel());
  return over_offsets(call, flat, offsets);
}

}  // namespace ebb::autograd
