// ebb/ops/impl/reduce/reduce_blocks.cpp -- see reduce_blocks.h.
//
// A tensor is cut until a block has at most kBlock elements: along a dim that is kept, if that
// gives blocks of whole rows or of broad columns; else into parts with about kOutputs results each,
// and these along the dims that are reduced, which makes a partial result per piece. How it is cut
// depends on sizes and strides alone, never on threads.
#include "ebb/ops/impl/reduce/reduce_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "ebb/kernels/tables/cast.h"
#include "ebb/ops/impl/copies.h"

namespace ebb::ops::impl {
namespace {

constexpr int64_t kBlock = kConvertedBlock;
constexpr int64_t kOutputs = 1024;  // partial results take at most 1/8 byte per element
constexpr int64_t kRun = 512;       // columns that are worth cutting out

/// Part of a tensor: geometry and its first element.
struct Part {
  Geometry geometry;
  char* data;
  DType dtype;

  Part(const Geometry& shape, void* first, DType type)
      : geometry(shape), data(static_cast<char*>(first)), dtype(type) {}
  kernels::TensorView view() const { return geometry.over(data, dtype); }
  int64_t numel() const { return geometry.numel(); }
  int64_t size(int dim) const { return geometry.sizes[dim]; }
  int64_t stride(int dim) const { return std::abs(geometry.strides[dim]); }
  /// `count` slices of `dim` from `first` on.
  Part slices(int dim, int64_t first, int64_t count) const {
    Part part = *this;
    part.geometry.sizes[dim] = count;
    part.data += first * geometry.strides[dim] * static_cast<int64_t>(item_size(dtype));
    return part;
  }
};

class BlockReduction {
 public:
  BlockReduction(const char* op, const ReduceTable& table, const Tensor& input,
                 std::initializer_list<DType> dtypes)
      : kernel_(kernel_for(op, table, input, *(dtypes.end() - 1))), context_(context_of(input)) {
    DType from = input.dtype();
    for (const DType to : dtypes) {
      casts_.push_back(kernel_for(op, kernels::cast_kernels, input, from));
      buffers_.push_back(empty(Shape{std::min(kBlock, input.numel())}, to, input.device()));
      from = to;
    }
  }

  void run(const Part& in, const Part& out) const {
    if (in.numel() <= kBlock) return run_block(in, out);
    const Cut cut = cut_of(in, out);
    if (!cut.is_kept) return run_pieces(in, out, cut.dim, cut.step);
    for (int64_t first = 0; first < in.size(cut.dim); first += cut.step) {
      const int64_t count = std::min(cut.step, in.size(cut.dim) - first);
      run(in.slices(cut.dim, first, count), out.slices(cut.dim, first, count));
    }
  }

 private:
  /// Along which dim to cut, and how many slices go together.
  struct Cut {
    int dim;
    int64_t step;
    bool is_kept;
  };

  static Cut cut_of(const Part& in, const Part& out) {
    const int kept = outermost(in, out, true), reduced = outermost(in, out, false);
    if (kept >= 0) {
      const int64_t fitting = kBlock / (in.numel() / in.size(kept));
      const bool is_outermost = reduced < 0 || in.stride(kept) > in.stride(reduced);
      if (fitting >= (is_outermost ? 1 : kRun)) return {kept, fitting, true};
    }
    if (out.numel() > kOutputs) {
      const int64_t slice = out.numel() / out.size(kept);
      return {kept, std::max<int64_t>(1, kOutputs / slice), true};
    }
    const int64_t slice = in.numel() / in.size(reduced);
    return {reduced, std::max<int64_t>(1, kBlock / slice), false};
  }

  /// The dim whose slices lie furthest apart, of those kept or of those reduced; -1: there is none.
  static int outermost(const Part& in, const Part& out, bool is_kept) {
    int found = -1;
    for (int dim = 0; dim < in.geometry.ndim; ++dim) {
      if (in.size(dim) == 1 || (out.size(dim) == in.size(dim)) != is_kept) continue;
      if (found < 0 || in.stride(dim) > in.stride(found)) found = dim;
    }
    return found;
  }

  void run_block(const Part& in, const Part& out) const {
    Geometry dense = in.geometry;
    contiguous_strides(dense.size_span(), dense.strides);
    kernels::TensorView from = in.view();
    for (size_t i = 0; i < casts_.size(); ++i) {
      const kernels::TensorView to = dense.over(buffers_[i]);
      casts_[i](context_, from, to);
      from = to;
    }
    kernel_(context_, from, out.view());
  }

  /// A partial result per `step` slices of a reduced dim, and the reduction of these.
  void run_pieces(const Part& in, const Part& out, int dim, int64_t step) const {
    const int64_t pieces = (in.size(dim) + step - 1) / step;
    Geometry partial = out.geometry;
    partial.sizes[dim] = pieces;
    contiguous_strides(partial.size_span(), partial.strides);
    const Tensor made = empty(partial.size_span(), out.dtype, context_.device);
    const Part parts(partial, made.data_ptr(), out.dtype);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const int64_t first = piece * step;
      const int64_t count = std::min(step, in.size(dim) - first);
      run(in.slices(dim, first, count), parts.slices(dim, piece, 1));
    }
    kernel_(context_, parts.view(), out.view());
  }

  kernels::ReduceKernel kernel_;
  kernels::Context context_;
  std::vector<kernels::CastKernel> casts_;
  std::vector<Tensor> buffers_;
};

}  // namespace

Tensor reduce_converted(const char* op, const ReduceTable& table, const Tensor& input,
                        const ReducedShape& shape, std::initializer_list<DType> dtypes) {
  const DType dtype = *(dtypes.end() - 1);
  Tensor out = empty(shape.out.size_span(), dtype, input.device());
  const Part whole(Geometry(input), input.data_ptr(), input.dtype());
  BlockReduction(op, table, input, dtypes).run(whole, {shape.kept, out.data_ptr(), dtype});
  return out;
}

}  // namespace ebb::ops::impl
