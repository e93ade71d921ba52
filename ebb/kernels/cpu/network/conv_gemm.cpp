// ebb/kernels/cpu/network/conv_gemm.cpp -- convolution as products of matrices (im2col), for every
// shape.
//
// The part of the input that each output place sees becomes a column; the kernel's taps are rows.
// Columns are made for a tile of whole output rows at a time, so that they stay in the cache. One
// image and group is worked on by one thread; weight gradients of blocks of images are summed in
// order, so results do not depend on the number of threads.
#include <algorithm>
#include <type_traits>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/network/conv.h"

namespace ebb::kernels::cpu {
namespace {

constexpr int64_t kTileBytes = int64_t{1} << 19;    // of columns
constexpr int64_t kPieceWork = int64_t{1} << 20;    // multiplications worth a thread
constexpr int64_t kMostBlocks = 8;                  // of images, each with a weight of its own
constexpr int64_t kMostPartial = int64_t{1} << 22;  // elements of such weights

/// One image and group of a convolution, by tiles of output rows.
template <typename T>
class Columns {
 public:
  explicit Columns(const ConvShape& shape)
      : shape_(shape),
        channels_(shape.in_channels / shape.groups),
        taps_(channels_ * shape.kernel_numel()),
        width_(shape.output[2]),
        rows_(shape.output[0] * shape.output[1]) {
    const int64_t row_bytes = taps_ * width_ * static_cast<int64_t>(sizeof(T));
    tile_rows_ = std::clamp<int64_t>(kTileBytes / row_bytes, 1, rows_);
  }
  int64_t taps() const { return taps_; }
  int64_t rows() const { return rows_; }
  int64_t tile_rows() const { return tile_rows_; }
  size_t tile_bytes() const { return static_cast<size_t>(taps_ * tile_rows_ * width_) * sizeof(T); }
  int64_t width() const { return width_; }

  /// Fills columns [taps, count * width] for output rows [first, first + count).
  void gather(const T* input, int64_t first, int64_t count, T* columns) const {
    for_each_run(first, count, [&](int64_t column, int64_t source, int64_t begin, int64_t end) {
      T* to = columns + column;
      std::fill(to, to + begin, T{0});
      const T* from = input + source;
      const int64_t stride = shape_.stride[2];
      if (stride == 1) {
        std::copy(from, from + (end - begin), to + begin);
      } else {
        for (int64_t i = begin; i < end; ++i) to[i] = from[(i - begin) * stride];
      }
      std::fill(to + end, to + width_, T{0});
    });
  }
  /// Adds columns back to where they came from.
  void scatter(const T* columns, int64_t first, int64_t count, T* input) const {
    for_each_run(first, count, [&](int64_t column, int64_t source, int64_t begin, int64_t end) {
      const T* from = columns + column;
      T* to = input + source;
      const int64_t stride = shape_.stride[2];
      for (int64_t i = begin; i < end; ++i) to[(i - begin) * stride] += from[i];
    });
  }

 private:
  /// The input's place along `dim` for an output place and a tap, perhaps outside.
  int64_t place(int dim, int64_t output, int64_t tap) const {
    return output * shape_.stride[dim] - shape_.padding[dim] + tap * shape_.dilation[dim];
  }
  bool is_inside(int dim, int64_t place) const { return place >= 0 && place < shape_.input[dim]; }

  /// Calls visit(column, source, begin, end) for each tap and output row: elements [begin, end) of
  /// the row at `column` of the columns lie in the input, the first of them at `source`.
  template <typename Visit>
  void for_each_run(int64_t first, int64_t count, Visit visit) const {
    int64_t column = 0;
    for (int64_t channel = 0; channel < channels_; ++channel) {
      for (int64_t tap = 0; tap < shape_.kernel_numel(); ++tap) {
        for (int64_t row = first; row < first + count; ++row, column += width_) {
          visit_row(channel, tap, row, column, visit);
        }
      }
    }
  }
  template <typename Visit>
  void visit_row(int64_t channel, int64_t tap, int64_t row, int64_t column, Visit& visit) const {
    const int64_t across = tap % shape_.kernel[2], down = tap / shape_.kernel[2];
    const int64_t depth = place(0, row / shape_.output[1], down / shape_.kernel[1]);
    const int64_t height = place(1, row % shape_.output[1], down % shape_.kernel[1]);
    if (!is_inside(0, depth) || !is_inside(1, height)) return visit(column, 0, 0, 0);
    const int64_t start = place(2, 0, across), stride = shape_.stride[2];
    const int64_t begin = start >= 0 ? 0 : std::min(width_, (stride - 1 - start) / stride);
    const int64_t room = shape_.input[2] - 1 - start;
    const int64_t end = room < 0 ? begin : std::clamp(room / stride + 1, begin, width_);
    const int64_t line = (channel * shape_.input[0] + depth) * shape_.input[1] + height;
    visit(column, line * shape_.input[2] + start + begin * stride, begin, end);
  }

  const ConvShape& shape_;
  int64_t channels_, taps_, width_, rows_, tile_rows_;
};

/// A pass over images and groups.
template <typename T>
class GemmConvolution {
 public:
  GemmConvolution(const ConvShape& shape, const ConvArrays& arrays)
      : shape_(shape),
        arrays_{static_cast<T*>(arrays.input), static_cast<T*>(arrays.weight),
                static_cast<const T*>(arrays.bias), static_cast<T*>(arrays.output)},
        columns_(shape),
        filters_(shape.out_channels / shape.groups),
        input_size_(shape.in_channels / shape.groups * shape.input_numel()),
        output_size_(filters_ * shape.output_numel()),
        weight_size_(filters_ * columns_.taps()) {}

  void run(ConvPass pass) const {
    if (pass == ConvPass::weight) return run_weights();
    const int64_t work = weight_size_ * shape_.output_numel();
    const int64_t grain = std::max<int64_t>(1, kPieceWork / std::max<int64_t>(1, work));
    parallel_for(shape_.batch * shape_.groups, grain, [&](int64_t begin, int64_t end) {
      const Scratch scratch(columns_.tile_bytes());
      for (int64_t item = begin; item < end; ++item) {
        pass == ConvPass::output ? to_output(item, scratch.as<T>())
                                 : to_input(item, scratch.as<T>());
      }
    });
  }

 private:
  static constexpr DType kType = std::is_same_v<T, float> ? DType::float32 : DType::float64;

  template <typename Body>
  void for_each_tile(Body body) const {
    for (int64_t row = 0; row < columns_.rows(); row += columns_.tile_rows()) {
      const int64_t count = std::min(columns_.tile_rows(), columns_.rows() - row);
      body(row, count, count * columns_.width());
    }
  }
  const T* weight_of(int64_t item) const {
    return arrays_.weight + item % shape_.groups * weight_size_;
  }

  /// Output = weight [filters, taps] times columns [taps, places].
  void to_output(int64_t item, T* columns) const {
    const int64_t places = shape_.output_numel();
    T* const out = arrays_.output + item * output_size_;
    if (arrays_.bias != nullptr) {
      const T* const bias = arrays_.bias + item % shape_.groups * filters_;
      for (int64_t i = 0; i < filters_; ++i) std::fill_n(out + i * places, places, bias[i]);
    }
    for_each_tile([&](int64_t row, int64_t count, int64_t width) {
      columns_.gather(arrays_.input + item * input_size_, row, count, columns);
      gemm(kType, {filters_,
                   width,
                   columns_.taps(),
                   {weight_of(item), columns_.taps(), 1},
                   {columns, width, 1},
                   out + row * columns_.width(),
                   places,
                   arrays_.bias != nullptr});
    });
  }

  /// Columns = weight^T [taps, filters] times output [filters, places], added to the input.
  void to_input(int64_t item, T* columns) const {
    const int64_t places = shape_.output_numel();
    T* const input = arrays_.input + item * input_size_;
    std::fill_n(input, input_size_, T{0});
    for_each_tile([&](int64_t row, int64_t count, int64_t width) {
      const T* const output = arrays_.output + item * output_size_ + row * columns_.width();
      gemm(kType, {columns_.taps(),
                   width,
                   filters_,
                   {weight_of(item), 1, columns_.taps()},
                   {output, places, 1},
                   columns,
                   width,
                   false});
      columns_.scatter(columns, row, count, input);
    });
    if (arrays_.bias == nullptr) return;
    const int64_t channels = shape_.in_channels / shape_.groups, size = shape_.input_numel();
    const T* const bias = arrays_.bias + item % shape_.groups * channels;
    for (int64_t i = 0; i < input_size_; ++i) input[i] += bias[i / size];
  }

  /// Weight [filters, taps] += output [filters, places] times columns^T [places, taps].
  void add_to_weight(int64_t item, T* columns, T* weight) const {
    const int64_t places = shape_.output_numel();
    T* const target = weight + item % shape_.groups * weight_size_;
    for_each_tile([&](int64_t row, int64_t count, int64_t width) {
      columns_.gather(arrays_.input + item * input_size_, row, count, columns);
      const T* const output = arrays_.output + item * output_size_ + row * columns_.width();
      gemm(kType, {filters_,
                   columns_.taps(),
                   width,
                   {output, places, 1},
                   {columns, 1, width},
                   target,
                   columns_.taps(),
                   true});
    });
  }

  void run_weights() const {
    const int64_t size = shape_.groups * weight_size_;
    const int64_t most = std::clamp<int64_t>(kMostPartial / size, 1, kMostBlocks);
    const int64_t images = (shape_.batch + most - 1) / most;
    const int64_t blocks = (shape_.batch + images - 1) / images;
    const Scratch partial(static_cast<size_t>(std::max<int64_t>(1, (blocks - 1) * size)) *
                          sizeof(T));
    const auto weight_of_block = [&](int64_t block) {
      return block == 0 ? arrays_.weight : partial.as<T>() + (block - 1) * size;
    };
    parallel_for(blocks, 1, [&](int64_t block, int64_t) {
      const Scratch scratch(columns_.tile_bytes());
      T* const weight = weight_of_block(block);
      std::fill_n(weight, size, T{0});
      const int64_t end = std::min(shape_.batch, (block + 1) * images) * shape_.groups;
      for (int64_t item = block * images * shape_.groups; item < end; ++item) {
        add_to_weight(item, scratch.as<T>(), weight);
      }
    });
    for (int64_t block = 1; block < blocks; ++block) {
      add_arrays(arrays_.weight, weight_of_block(block), size);
    }
  }

  const ConvShape& shape_;
  struct {
    T* input;
    T* weight;
    const T* bias;
    T* output;
  } arrays_;
  Columns<T> columns_;
  int64_t filters_, input_size_, output_size_, weight_size_;
};

}  // namespace

void gemm_convolve(ConvPass pass, const ConvShape& shape, DType dtype, const ConvArrays& arrays) {
  if (dtype == DType::float32) return GemmConvolution<float>(shape, arrays).run(pass);
  GemmConvolution<double>(shape, arrays).run(pass);
}

}  // namespace ebb::kernels::cpu
