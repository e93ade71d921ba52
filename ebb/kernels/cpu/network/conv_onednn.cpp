// ebb/kernels/cpu/network/conv_onednn.cpp -- cuts a convolution into pieces and runs them by
// oneDNN.
//
// A piece is a block of images and, where there are few images, a slice of the channels. Its arrays
// are copied into oneDNN's blocked layouts and back while they are in the cache. What the pieces
// are follows from the shape alone, and weight gradients of blocks of images are summed in order,
// so results do not depend on the number of threads.
#include <algorithm>
#include <optional>
#include <vector>

#include "ebb/core/runtime/allocator.h"
#include "ebb/core/runtime/counted_vector.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/cpu/network/conv.h"
#include "ebb/kernels/cpu/network/conv_plan.h"

namespace ebb::kernels::cpu {
namespace {

constexpr double kPieceWork = 1 << 23;         // multiplications of a piece, about 80 us
constexpr int64_t kPieceElements = 192 << 10;  // of its copies, so that they stay in the L2 cache
constexpr int64_t kFewPieces = 4;              // with fewer, channels are cut as well
constexpr int64_t kLeastChannels = 32;         // of a slice
constexpr int64_t kMostBlocks = 16;            // of images, each with a weight of its own
constexpr int64_t kPlacesPerPiece = 512;       // so that a weight is read for many places
constexpr int64_t kPlacesPerBlock = 2048;      // so that such a weight is worth its memory
constexpr int64_t kMostElements = 1 << 29;     // of an array: oneDNN's offsets have 32 bits

int64_t pieces_of(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

int64_t largest_image(const ConvShape& shape) {
  return std::max(shape.in_channels * shape.input_numel(),
                  shape.out_channels * shape.output_numel());
}

int64_t both_images(const ConvShape& shape) {
  return shape.in_channels * shape.input_numel() + shape.out_channels * shape.output_numel();
}

/// How a convolution is cut.
class Cut {
 public:
  Cut(ConvPass pass, const ConvShape& shape, DType dtype, bool has_bias)
      : pass_(pass), shape_(shape), dtype_(dtype), has_bias_(has_bias) {
    const double per_image =
        static_cast<double>(shape.weight_numel()) * static_cast<double>(shape.output_numel());
    const double wanted = std::max(1.0, kPieceWork / per_image);
    images_ =
        wanted < static_cast<double>(shape.batch) ? static_cast<int64_t>(wanted) : shape.batch;
    images_ = std::clamp<int64_t>(kPieceElements / both_images(shape), 1, images_);
    int64_t least = kPlacesPerPiece / shape.output_numel();
    if (pass == ConvPass::weight) {
      least = std::max(pieces_of(shape.batch, kMostBlocks), kPlacesPerBlock / shape.output_numel());
    }
    images_ = std::max(images_, std::min(least, shape.batch));
    images_ = std::min(images_, std::max<int64_t>(1, kMostElements / largest_image(shape)));
    images_ = pieces_of(shape.batch, pieces_of(shape.batch, images_));  // of even size
    channels_ = cut_channels(per_image * static_cast<double>(images_));
  }

  int64_t blocks() const { return pieces_of(shape_.batch, images_); }
  int64_t slices() const { return pieces_of(all_channels(), channels_); }
  int64_t first_image(int64_t block) const { return block * images_; }
  int64_t first_channel(int64_t slice) const { return slice * channels_; }

  ConvPiece piece(int64_t block, int64_t slice) const {
    ConvPiece piece{pass_, dtype_, has_bias_, shape_, shape_.in_channels, shape_.out_channels};
    piece.shape.batch = std::min(images_, shape_.batch - first_image(block));
    const int64_t channels = std::min(channels_, all_channels() - first_channel(slice));
    (pass_ == ConvPass::input ? piece.shape.in_channels : piece.shape.out_channels) = channels;
    return piece;
  }

 private:
  int64_t all_channels() const {
    return pass_ == ConvPass::input ? shape_.in_channels : shape_.out_channels;
  }
  int64_t cut_channels(double work) const {
    const int64_t all = all_channels();
    if (shape_.groups != 1 || blocks() >= kFewPieces || work < 2 * kPieceWork) return all;
    const auto worth = static_cast<int64_t>(std::min(work / kPieceWork, 16.0));
    const int64_t slices = std::min(pieces_of(kFewPieces, blocks()), worth);
    const int64_t even = pieces_of(pieces_of(all, slices), 16) * 16;
    return std::min(all, std::max(kLeastChannels, even));
  }

  ConvPass pass_;
  const ConvShape& shape_;
  DType dtype_;
  bool has_bias_;
  int64_t images_, channels_;
};

void* at(const void* array, int64_t bytes) {
  return const_cast<char*>(static_cast<const char*>(array)) + bytes;
}

/// The arrays of a piece: where they begin in those of the whole.
ConvArrays arrays_of(const Cut& cut, ConvPass pass, const ConvShape& shape, DType dtype,
                     const ConvArrays& whole, int64_t block, int64_t slice) {
  const auto item = static_cast<int64_t>(item_size(dtype));
  const int64_t weight_item = pass == ConvPass::weight ? sizeof(float) : item;
  const int64_t image = cut.first_image(block), channel = cut.first_channel(slice);
  const int64_t input_size = shape.input_numel(), output_size = shape.output_numel();
  int64_t input = image * shape.in_channels * input_size;
  int64_t output = image * shape.out_channels * output_size;
  int64_t weight = channel * shape.kernel_numel();
  if (pass == ConvPass::input) {
    input += channel * input_size;
  } else {
    output += channel * output_size;
    weight *= shape.in_channels / shape.groups;
  }
  return {at(whole.input, input * item), at(whole.weight, weight * weight_item),
          whole.bias == nullptr ? nullptr : at(whole.bias, channel * item),
          at(whole.output, output * item)};
}

using Plans = std::vector<std::shared_ptr<const ConvPlan>>;

/// The plan of each piece, slice after slice; empty if oneDNN lacks one.
Plans plans_of(const Cut& cut) {
  Plans plans;
  const int64_t blocks = cut.blocks();
  for (int64_t slice = 0; slice < cut.slices(); ++slice) {
    for (int64_t block = 0; block < blocks; ++block) {
      // All blocks but the last have one shape.
      const bool is_known = block > 0 && block < blocks - 1;
      plans.push_back(is_known ? plans.back() : plan_for(cut.piece(block, slice)));
      if (plans.back() == nullptr) return {};
    }
  }
  return plans;
}

/// The weights in the layouts that the plans want, each made once.
class PreparedWeights {
 public:
  PreparedWeights(const Plans& plans, int64_t blocks) : plans_(plans), blocks_(blocks) {
    size_t bytes = 0;
    for (int64_t piece = 0; piece < count(); ++piece) {
      offsets_.push_back(bytes);
      if (is_first(piece)) bytes += plan(piece).prepared_bytes();
    }
    if (bytes != 0) block_.emplace(bytes);
  }

  /// Copies the slices of a weight. `plain` gives where a piece's begins.
  template <class Plain>
  void prepare(Plain plain) const {
    parallel_for(count(), 1, [&](int64_t piece, int64_t) {
      if (!is_first(piece) || plan(piece).prepared_bytes() == 0) return;
      plan(piece).prepare_weight(plain(piece), at(piece));
    });
  }
  /// The weight of a piece, or null if the plain one serves.
  void* of(int64_t piece) const {
    while (!is_first(piece)) --piece;
    return plan(piece).prepared_bytes() == 0 ? nullptr : at(piece);
  }

 private:
  int64_t count() const { return static_cast<int64_t>(plans_.size()); }
  const ConvPlan& plan(int64_t piece) const { return *plans_[static_cast<size_t>(piece)]; }
  /// Whether the piece before is of another slice or wants another layout.
  bool is_first(int64_t piece) const {
    return piece % blocks_ == 0 || plan(piece).weight().wanted != plan(piece - 1).weight().wanted;
  }
  void* at(int64_t piece) const {
    return block_->as<char>() + offsets_[static_cast<size_t>(piece)];
  }

  const Plans& plans_;
  int64_t blocks_;
  CountedVector<size_t> offsets_;
  std::optional<Scratch> block_;
};

void run_images(const Cut& cut, ConvPass pass, const ConvShape& shape, DType dtype,
                const Plans& plans, const ConvArrays& arrays) {
  const int64_t blocks = cut.blocks();
  const auto arrays_at = [&](int64_t piece) {
    return arrays_of(cut, pass, shape, dtype, arrays, piece % blocks, piece / blocks);
  };
  PreparedWeights weights(plans, blocks);
  weights.prepare([&](int64_t piece) { return arrays_at(piece).weight; });
  parallel_for(static_cast<int64_t>(plans.size()), 1, [&](int64_t piece, int64_t) {
    ConvArrays own = arrays_at(piece);
    if (void* const prepared = weights.of(piece)) own.weight = prepared;
    plans[static_cast<size_t>(piece)]->run(own);
  });
}

/// The first block of images writes the weight, each further one a copy that is added to it.
void run_weights(const Cut& cut, const ConvShape& shape, DType dtype, const Plans& plans,
                 const ConvArrays& arrays) {
  const int64_t blocks = cut.blocks(), size = shape.weight_numel();
  const Scratch partial(static_cast<size_t>(std::max<int64_t>(1, (blocks - 1) * size)) *
                        sizeof(float));
  parallel_for(static_cast<int64_t>(plans.size()), 1, [&](int64_t piece, int64_t) {
    const int64_t block = piece % blocks;
    ConvArrays whole = arrays;
    if (block > 0) whole.weight = partial.as<float>() + (block - 1) * size;
    plans[static_cast<size_t>(piece)]->run(
        arrays_of(cut, ConvPass::weight, shape, dtype, whole, block, piece / blocks));
  });
  parallel_for(size, int64_t{1} << 15, [&](int64_t begin, int64_t end) {
    for (int64_t block = 1; block < blocks; ++block) {
      const float* const from = partial.as<float>() + (block - 1) * size;
      add_arrays(static_cast<float*>(arrays.weight) + begin, from + begin, end - begin);
    }
  });
}

/// Whether oneDNN counts the elements of one image and of the weight without overflow.
bool is_small_enough(const ConvShape& shape) {
  constexpr double kMost = static_cast<double>(kMostElements);
  const auto channels = static_cast<double>(std::max(shape.in_channels, shape.out_channels));
  const auto places = static_cast<double>(std::max(shape.input_numel(), shape.output_numel()));
  return channels * places < kMost && static_cast<double>(shape.weight_numel()) < kMost;
}

/// Whether the output has the size that the input gives; a transposed convolution may cut it off.
bool has_whole_output(const ConvShape& shape) {
  for (int dim = 0; dim < kMaxSpatial; ++dim) {
    const int64_t reach = shape.dilation[dim] * (shape.kernel[dim] - 1) + 1;
    const int64_t room = shape.input[dim] + 2 * shape.padding[dim] - reach;
    if (room < 0 || room / shape.stride[dim] + 1 != shape.output[dim]) return false;
  }
  return true;
}

/// Whether along each dim with steps and padding some window lies inside of the input. Where none
/// does, oneDNN gives wrong weight gradients (2.7.2 on AVX-512: often in bfloat16, and in float32
/// of deep kernels).
bool has_inner_places(const ConvShape& shape) {
  for (int dim = 0; dim < kMaxSpatial; ++dim) {
    const int64_t stride = shape.stride[dim], padding = shape.padding[dim];
    if (stride == 1 || padding == 0) continue;
    const int64_t start = (padding + stride - 1) / stride * stride - padding;
    const int64_t reach = shape.dilation[dim] * (shape.kernel[dim] - 1) + 1;
    if (start + reach > shape.input[dim]) return false;
  }
  return true;
}

}  // namespace

bool onednn_convolve(ConvPass pass, const ConvShape& shape, DType dtype, const ConvArrays& arrays) {
  if (!is_small_enough(shape) || !has_whole_output(shape)) return false;
  if (pass == ConvPass::weight && !has_inner_places(shape)) return false;
  const Cut cut(pass, shape, dtype, arrays.bias != nullptr);
  const Plans plans = plans_of(cut);
  if (plans.empty()) return false;
  pass == ConvPass::weight ? run_weights(cut, shape, dtype, plans, arrays)
                           : run_images(cut, pass, shape, dtype, plans, arrays);
  return true;
}

}  // namespace ebb::kernels::cpu
