// ebb/kernels/cpu/simd/run_rows.cpp -- tiles over strided and broadcast operands.
#include <algorithm>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/blocks.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/loops.h"
#include "ebb/kernels/cpu/simd/strided.h"

namespace ebb::kernels::cpu {
namespace {

// Runs of at least this length are read where they are; shorter ones are collected into a tile.
constexpr int64_t kDirectRun = 64;

/// One operand and how a piece of the loop gets at it.
struct Operand {
  StridedRange range;
  int64_t item;
  DType dtype;
  bool is_number;  // of NumberOf its dtype, as row functions take it
  bool is_single;
  bool is_dense;
  bool has_direct_runs;  // long innermost runs that are dense or one repeated element

  Operand(const TensorView& view, const LoopShape& shape)
      : range(view, shape),
        item(static_cast<int64_t>(item_size(view.dtype))),
        dtype(view.dtype),
        is_number(view.on_host),
        is_single(range.is_single()),
        is_dense(!is_single && range.is_contiguous()),
        has_direct_runs(range.inner_size() >= kDirectRun &&
                        (range.inner_stride() == 0 || range.inner_stride() == 1)) {}

  bool needs_tile() const { return !is_single && !is_dense && !has_direct_runs; }
};

class RowLoop {
 public:
  RowLoop(RowFunction row, unsigned splat_allowed, std::span<const TensorView* const> inputs,
          const TensorView& out)
      : row_(row),
        splat_allowed_(splat_allowed),
        count_(static_cast<int>(inputs.size())),
        shape_(out),
        operands_{{*inputs[0], shape_},
                  {count_ > 1 ? *inputs[1] : *inputs[0], shape_},
                  {count_ > 2 ? *inputs[2] : *inputs[0], shape_}},
        out_(out, shape_) {
    // A result whose inputs are all repeated elements is computed per tile like any other: of one
    // that is no number.
    const auto is_element = [](const Operand& operand) { return !operand.is_number; };
    if (all_repeated()) {
      const Operand* const first = operands_;
      spread_ = static_cast<int>(std::find_if(first, first + count_, is_element) - first);
    }
    out_needs_tile_ = !(out_.is_dense || (out_.has_direct_runs && out_.range.inner_stride() == 1));
  }

  void run(int64_t begin, int64_t end) const {
    alignas(64) char tiles[kMaxInputs + 1][kTileBytes];
    while (begin < end) {
      const int64_t count = next_count(begin, end);
      const void* in[kMaxInputs];
      unsigned splat = 0;
      for (int i = 0; i < count_; ++i) {
        const bool may_splat = (splat_allowed_ >> i & 1u) != 0 && i != spread_;
        in[i] = fetch(operands_[i], begin, count, may_splat, tiles[i], splat, i);
      }
      if (out_needs_tile_) {
        row_(in, tiles[kMaxInputs], count, splat);
        out_.range.scatter(begin, count, tiles[kMaxInputs]);
      } else {
        row_(in, out_.range.at(begin), count, splat);
      }
      begin += count;
    }
  }

 private:
  /// Elements up to the next place where some operand has to be looked up anew.
  int64_t next_count(int64_t begin, int64_t end) const {
    int64_t count = end - begin;
    bool needs_tile = out_needs_tile_;
    const auto limit = [&](const Operand& operand) {
      if (operand.is_single || operand.is_dense) return;
      if (operand.has_direct_runs) count = std::min(count, operand.range.run_left(begin));
      needs_tile |= operand.needs_tile();
    };
    for (int i = 0; i < count_; ++i) {
      limit(operands_[i]);
      const bool must_repeat = is_repeated(operands_[i]);
      needs_tile |= must_repeat && (splat_allowed_ >> i & 1u) == 0;
    }
    if (!out_needs_tile_) limit(out_);
    needs_tile |= all_repeated();
    return needs_tile ? std::min(count, kTile) : count;
  }

  static bool is_repeated(const Operand& operand) {
    return operand.is_single || (operand.has_direct_runs && operand.range.inner_stride() == 0);
  }
  bool all_repeated() const { return std::all_of(operands_, operands_ + count_, is_repeated); }

  /// One element as NumberOf its type.
  const void* number_of(const Operand& operand, const void* place, void* tile) const {
    if (!is_half(operand.dtype) || splat_allowed_ == kSameSplat) return place;
    auto* const number = static_cast<float*>(tile);
    *number = operand.dtype == DType::float16
                  ? convert<float>(*static_cast<const Half*>(place))
                  : convert<float>(*static_cast<const BFloat16*>(place));
    return number;
  }

  const void* fetch(const Operand& operand, int64_t begin, int64_t count, bool may_splat,
                    void* tile, unsigned& splat, int position) const {
    if (is_repeated(operand)) {
      const void* place = operand.range.at(begin);
      if (may_splat) {
        splat |= 1u << position;
        return number_of(operand, place, tile);
      }
      gather_run(place, 0, count, operand.item, tile);
      return tile;
    }
    if (!operand.needs_tile()) return operand.range.at(begin);
    operand.range.gather(begin, count, tile);
    return tile;
  }

  RowFunction row_;
  unsigned splat_allowed_;
  int count_;
  int spread_ = -1;  // the operand that is copied to every place of a tile though it is repeated
  LoopShape shape_;
  Operand operands_[kMaxInputs];
  Operand out_;
  bool out_needs_tile_;
};

}  // namespace

void run_rows(RowFunction row, unsigned splat_allowed, std::span<const TensorView* const> inputs,
              const TensorView& out) {
  if (out.numel == 0) return;
  if (prefers_blocks(inputs, out)) return run_blocks(row, inputs, out);
  const RowLoop loop(row, splat_allowed, inputs, out);
  parallel_for(out.numel, kGrain, [&](int64_t begin, int64_t end) { loop.run(begin, end); });
}

}  // namespace ebb::kernels::cpu
