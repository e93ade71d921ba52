// ebb/autograd/history/gradients/in_blocks.cpp -- see in_blocks.h.
//
// The shape is cut along one dim, the outermost of which a slice is no larger than a block; those
// before it are walked through. So a block of a contiguous tensor is a run of its memory.
#include "ebb/autograd/history/gradients/in_blocks.h"

#include <algorithm>
#include <vector>

#include "ebb/autograd/ops/cast.h"
#include "ebb/core/base/shape.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/ops/creation.h"
#include "ebb/ops/view_of.h"

namespace ebb::autograd {
namespace {

/// Whether what holds for all elements of `operands` may be worked out for some at a time.
bool can_be_cut(std::span<const Tensor> operands) {
  const uint32_t modes = thread_state.modes & gate::kMask;
  if ((modes & ~gate::kNoGrad) != 0) return false;  // watched, for one
  constexpr uint32_t kNotPlain = gate::kTangent | gate::kNotStrided;
  return std::all_of(operands.begin(), operands.end(), [&](const Tensor& operand) {
    if (!operand.defined()) return false;
    const bool is_recorded = modes == 0 && operand.requires_grad();
    const bool is_plain = (operand.gate_bits() & kNotPlain) == 0;
    return is_plain && !is_recorded && operand.device() == Device{};
  });
}

Shape shape_of(std::span<const Tensor> operands) {
  Shape shape = operands[0].shape();
  for (const Tensor& operand : operands.subspan(1)) {
    shape = broadcast_shapes("in_blocks", shape, operand.sizes());
  }
  return shape;
}

/// Where a shape is cut, and one of its blocks at a time.
class Blocks {
 public:
  explicit Blocks(const Shape& shape) : shape_(shape), at_(shape) {
    int64_t slice = 1;
    for (dim_ = shape.ndim() - 1; dim_ > 0; --dim_) {
      if (slice * shape[dim_] > kFormulaBlock) break;
      slice *= shape[dim_];
    }
    step_ = std::max<int64_t>(1, kFormulaBlock / slice);
    std::fill(at_.begin(), at_.end(), 0);
  }

  /// The part of `tensor`, of this shape or one that broadcasts to it, in the current block.
  Tensor part_of(const Tensor& tensor) const {
    const int lead = shape_.ndim() - tensor.ndim();
    int64_t offset = tensor.storage_offset();
    Shape sizes, strides;
    for (int own = 0; own < tensor.ndim(); ++own) {
      const int dim = lead + own;
      const int64_t size = tensor.sizes()[static_cast<size_t>(own)];
      const int64_t stride = tensor.strides()[static_cast<size_t>(own)];
      if (size != 1) offset += at_[dim] * stride;
      if (dim < dim_) continue;
      sizes.push_back(dim == dim_ && size != 1 ? std::min(step_, size - at_[dim]) : size);
      strides.push_back(stride);
    }
    return make_alias(tensor, sizes, strides, offset);
  }

  /// Goes on to the next block; false behind the last.
  bool advance() {
    at_[dim_] += step_;
    if (at_[dim_] < shape_[dim_]) return true;
    at_[dim_] = 0;
    for (int dim = dim_ - 1; dim >= 0; --dim) {
      if (++at_[dim] < shape_[dim]) return true;
      at_[dim] = 0;
    }
    return false;
  }

 private:
  const Shape shape_;
  Shape at_;  // the first element of the block
  int dim_;
  int64_t step_;
};

}  // namespace

Tensor detail::cast_to_float(const Tensor& half) { return cast(half, DType::float32); }

DType detail::common_half(std::initializer_list<const Tensor*> operands) {
  DType half = DType::float32;
  for (const Tensor* const operand : operands) {
    if (!operand->defined()) continue;
    const DType dtype = operand->dtype();
    if (!is_floating(dtype) && !is_complex(dtype)) continue;
    if (!is_half(dtype) || (is_half(half) && half != dtype)) return DType::float32;
    half = dtype;
  }
  return half;
}

Tensor detail::cast_to_half(const Tensor& result, DType half) { return cast(result, half); }

Tensor to_be_summed(const Tensor& grad, IntSpan operand_sizes) {
  return equal(grad.sizes(), operand_sizes) ? grad : detail::cast_to_float(grad);
}

Tensor detail::widened_beside(const Tensor& operand, DType grad) {
  const DType own = operand.dtype();
  const DType real = real_type_of(grad);
  if (is_complex(own))
    return real_type_of(own) == DType::float32 && real == DType::float64
               ? cast(operand, DType::complex128)
               : operand;
  // A number beside tensors, which counts as one without dims, may be wider than the op.
  const bool is_narrower = !is_floating(own) || item_size(own) < item_size(real);
  return is_narrower ? cast(operand, real) : operand;
}

Tensor detail::large_in_blocks(std::span<const Tensor> operands,
                               FunctionRef<Tensor(const Tensor*)> formula) {
  if (!can_be_cut(operands)) return formula(operands.data());
  const Shape shape = shape_of(operands);
  if (checked_numel("in_blocks", shape, 1) == 0) return formula(operands.data());
  // Terms of a sum are not rounded first.
  const bool is_summed = std::any_of(operands.begin(), operands.end(), [&](const Tensor& operand) {
    return !equal(operand.sizes(), shape);
  });
  Blocks blocks(shape);
  std::vector<Tensor> parts(operands.size());
  Tensor out;
  do {
    for (size_t index = 0; index < parts.size(); ++index) {
      parts[index] = blocks.part_of(operands[index]);
    }
    const Tensor part = formula(parts.data());
    if (!out.defined()) {
      const DType given = operands[0].dtype();
      const bool is_narrowed = is_half(given) && !is_summed;
      out = ops::empty(shape, is_narrowed ? given : part.dtype(), part.device());
    }
    // Not by copy_: `out` is new, and its version stays 0.
    const auto convert = ops::kernel_for("in_blocks", kernels::cast_kernels, part);
    convert(ops::context_of(out), ops::view_of(part), ops::view_of(blocks.part_of(out)));
  } while (blocks.advance());
  return out;
}

}  // namespace ebb::autograd
