// ebb/kernels/cpu/index/index_range.cpp -- whether indices are in range.
//
// What is written in place has its indices looked at before. The loop over a block is plain and
// left to the compiler, once per target.
#include <algorithm>
#include <atomic>

#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/cpu/each_target.h"
#include "ebb/kernels/cpu/index/row_pieces.h"
#include "ebb/kernels/tables/find_out_of_range.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::kernels::cpu::HWY_NAMESPACE {
namespace {

/// How many of the `count` values, in whole blocks, lie in [low, high) before a block in which one
/// does not: in such a block a sign is set, of the value or of what it leaves to the end.
int64_t good_blocks(const int64_t* values, int64_t count, int64_t low, int64_t high) {
  constexpr int64_t kBlock = 64;  // known, so that compilers take several at a time
  const auto first = static_cast<uint64_t>(low), last = static_cast<uint64_t>(high - 1);
  int64_t good = 0;
  for (; good + kBlock <= count; good += kBlock) {
    uint64_t signs = 0;
    for (int64_t i = 0; i < kBlock; ++i) {
      const auto value = static_cast<uint64_t>(values[good + i]);
      signs |= (value - first) | (last - value);
    }
    if (static_cast<int64_t>(signs) < 0) break;
  }
  return good;
}

int64_t find_out_of_range_kernel(const Context&, const TensorView& index, int64_t low,
                                 int64_t high) {
  if (index.numel == 0) return -1;
  const int64_t step = index.ndim == 0 ? 0 : index.strides[index.ndim - 1];
  const int64_t inner = index.ndim == 0 ? 1 : index.sizes[index.ndim - 1];
  std::atomic<int64_t> first{INT64_MAX};
  RowPieces(index).run([&](int64_t row, int64_t begin, int64_t end) {
    Walk walk(index, index.ndim, -1);
    walk.go_to(row, index);
    const auto* values = index.as<const int64_t>() + walk.offset;
    int64_t at = step == 1 ? begin + good_blocks(values + begin, end - begin, low, high) : begin;
    while (at < end && is_index(values[at * step] - low, high - low)) ++at;
    if (at == end) return;
    int64_t known = first.load();
    const int64_t found = row * inner + at;
    while (found < known && !first.compare_exchange_weak(known, found)) {
    }
  });
  return first == INT64_MAX ? -1 : first.load();
}

}  // namespace

void fill_index_range() {
  find_out_of_range_kernels.set_cpu(DType::int64, &find_out_of_range_kernel);
}

}  // namespace ebb::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
