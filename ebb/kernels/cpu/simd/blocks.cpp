// ebb/kernels/cpu/simd/blocks.cpp -- copies blocks to tiles, runs the row function, copies them
// back.
#include "ebb/kernels/cpu/simd/blocks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/simd/strided.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kRows = 32, kColumns = 16;
static_assert(kRows * kColumns == kTile);

/// The two innermost dims of the loop that have more than one element.
struct BlockDims {
  int row = -1, column = -1;

  explicit BlockDims(const LoopShape& shape) {
    for (int dim = 0; dim < shape.ndim; ++dim) {
      if (shape.sizes[dim] == 1) continue;
      row = column;
      column = dim;
    }
  }
};

/// One operand's memory in loop order; a stretched dim has stride 0.
struct BlockOperand {
  char* data;
  int64_t item;
  bool is_number;             // as row functions take it
  int64_t strides[kMaxDims];  // in bytes

  BlockOperand(const TensorView& view, const LoopShape& shape)
      : data(static_cast<char*>(view.data)),
        item(static_cast<int64_t>(item_size(view.dtype))),
        is_number(view.on_host) {
    const int lead = shape.ndim - view.ndim;
    for (int i = 0; i < shape.ndim; ++i) {
      const int dim = shape.dims[i] - lead;
      const bool stretched = dim < 0 || view.sizes[dim] == 1;
      strides[i] = stretched ? 0 : view.strides[dim] * item;
    }
  }
};

bool lies_across(const BlockOperand& operand, const BlockDims& dims) {
  return std::abs(operand.strides[dims.row]) == operand.item &&
         std::abs(operand.strides[dims.column]) > operand.item;
}

/// A block of one operand.
struct Block {
  char* data;
  int64_t row_stride, column_stride;  // in bytes
  int64_t rows, columns;
};

/// The usual case: a full block whose columns are dense.
template <typename Word>
void turn_block(const Block& block, Word* tile) {
  for (int64_t j = 0; j < kColumns; ++j) {
    const auto* from = reinterpret_cast<const Word*>(block.data + j * block.column_stride);
    for (int64_t i = 0; i < kRows; ++i) tile[i * kColumns + j] = from[i];
  }
}

/// To a dense tile. Runs down the columns if they are the dense side.
template <typename Word>
void read_block(const Block& block, Word* tile) {
  if (block.row_stride == sizeof(Word) && block.rows == kRows && block.columns == kColumns) {
    return turn_block(block, tile);
  }
  if (block.column_stride == sizeof(Word)) {
    for (int64_t i = 0; i < block.rows; ++i) {
      std::memcpy(tile + i * block.columns, block.data + i * block.row_stride,
                  static_cast<size_t>(block.columns) * sizeof(Word));
    }
    return;
  }
  const auto at = [&](int64_t i, int64_t j) {
    return *reinterpret_cast<const Word*>(block.data + i * block.row_stride +
                                          j * block.column_stride);
  };
  if (std::abs(block.row_stride) < std::abs(block.column_stride)) {
    for (int64_t j = 0; j < block.columns; ++j) {
      for (int64_t i = 0; i < block.rows; ++i) tile[i * block.columns + j] = at(i, j);
    }
    return;
  }
  for (int64_t i = 0; i < block.rows; ++i) {
    for (int64_t j = 0; j < block.columns; ++j) tile[i * block.columns + j] = at(i, j);
  }
}

template <typename Word>
void write_block(const Word* tile, const Block& block) {
  if (block.column_stride == sizeof(Word)) {
    for (int64_t i = 0; i < block.rows; ++i) {
      std::memcpy(block.data + i * block.row_stride, tile + i * block.columns,
                  static_cast<size_t>(block.columns) * sizeof(Word));
    }
    return;
  }
  for (int64_t i = 0; i < block.rows; ++i) {
    for (int64_t j = 0; j < block.columns; ++j) {
      *reinterpret_cast<Word*>(block.data + i * block.row_stride + j * block.column_stride) =
          tile[i * block.columns + j];
    }
  }
}

class BlockLoop {
 public:
  BlockLoop(RowFunction row, std::span<const TensorView* const> inputs, const TensorView& out)
      : row_(row), count_(static_cast<int>(inputs.size())), shape_(out), dims_(shape_) {
    for (int i = 0; i < count_; ++i) operands_[i].emplace(*inputs[static_cast<size_t>(i)], shape_);
    operands_[count_].emplace(out, shape_);
    outer_ = 1;
    for (int dim = 0; dim < dims_.row; ++dim) outer_ *= shape_.sizes[dim];
  }

  void run() const {
    const int64_t strips = (shape_.sizes[dims_.row] - 1) / kRows + 1;
    const int64_t grain = std::max<int64_t>(1, kGrain / kRows / shape_.sizes[dims_.column]);
    parallel_for(outer_ * strips, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_strip(i / strips, i % strips * kRows);
    });
  }

 private:
  void run_strip(int64_t outer, int64_t row) const {
    alignas(64) char tiles[kMaxInputs + 1][kTileBytes];
    const int64_t rows = std::min(kRows, shape_.sizes[dims_.row] - row);
    const int64_t width = shape_.sizes[dims_.column];
    for (int64_t column = 0; column < width; column += kColumns) {
      const int64_t columns = std::min(kColumns, width - column);
      const void* in[kMaxInputs];
      unsigned splat = kNoSplat;
      for (int i = 0; i < count_; ++i) {
        if (operands_[i]->is_number) {
          in[i] = operands_[i]->data;
          splat |= 1u << i;
          continue;
        }
        const Block block = block_of(i, outer, row, column, rows, columns);
        visit_word(operands_[i]->item, [&]<typename Word>(Word*) {
          read_block(block, reinterpret_cast<Word*>(tiles[i]));
        });
        in[i] = tiles[i];
      }
      row_(in, tiles[kMaxInputs], rows * columns, splat);
      const Block block = block_of(count_, outer, row, column, rows, columns);
      visit_word(operands_[count_]->item, [&]<typename Word>(Word*) {
        write_block(reinterpret_cast<const Word*>(tiles[kMaxInputs]), block);
      });
    }
  }

  Block block_of(int operand, int64_t outer, int64_t row, int64_t column, int64_t rows,
                 int64_t columns) const {
    const BlockOperand& from = *operands_[operand];
    char* place = from.data;
    for (int dim = dims_.row - 1; dim >= 0; --dim) {
      place += outer % shape_.sizes[dim] * from.strides[dim];
      outer /= shape_.sizes[dim];
    }
    const int64_t row_stride = from.strides[dims_.row];
    const int64_t column_stride = from.strides[dims_.column];
    return {place + row * row_stride + column * column_stride, row_stride, column_stride, rows,
            columns};
  }

  RowFunction row_;
  int count_;
  LoopShape shape_;
  BlockDims dims_;
  int64_t outer_;
  std::optional<BlockOperand> operands_[kMaxInputs + 1];  // the last one used is out
};

}  // namespace

bool prefers_blocks(std::span<const TensorView* const> inputs, const TensorView& out) {
  if (out.ndim < 2 || out.numel < 4 * kTile) return false;
  const LoopShape shape(out);
  const BlockDims dims(shape);
  if (dims.row < 0 || shape.sizes[dims.row] < kColumns || shape.sizes[dims.column] < kColumns) {
    return false;
  }
  return std::any_of(inputs.begin(), inputs.end(), [&](const TensorView* view) {
    return lies_across(BlockOperand(*view, shape), dims);
  });
}

void run_blocks(RowFunction row, std::span<const TensorView* const> inputs, const TensorView& out) {
  BlockLoop(row, inputs, out).run();
}

}  // namespace ebb::kernels::cpu
