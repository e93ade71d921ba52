// ebb/ops/pointwise_run.h -- runs pointwise ops: the straight path inline, everything else out of
// line.
//
// The straight path is for small contiguous operands of one dtype and shape on the CPU: a few
// compares, and straight_row() gives the kernel to call. Where it gives null, run_pointwise()
// promotes, broadcasts and casts, and throws what is to be thrown. Generated code
// (ebb/ops/<family>.cpp) is the only user.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "ebb/kernels/kernel_table.h"
#include "ebb/kernels/signatures.h"
#include "ebb/ops/prepare.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops {

inline constexpr kernels::Context kCpuContext{};

inline bool is_straight(const TensorImpl* impl) {
  return impl != nullptr && impl->is_contiguous() &&
         std::bit_cast<uint16_t>(impl->device) == std::bit_cast<uint16_t>(Device{}) &&
         impl->numel <= kernels::kRowLimit;
}

/// Whether dtype, number of dims, device and sizes agree and both are contiguous.
inline bool has_geometry_of(const TensorImpl& lhs, const TensorImpl& rhs) {
  // dtype, ndim and device are neighbours: one compare.
  uint32_t left_kind, right_kind;
  std::memcpy(&left_kind, reinterpret_cast<const char*>(&lhs) + offsetof(TensorImpl, dtype), 4);
  std::memcpy(&right_kind, reinterpret_cast<const char*>(&rhs) + offsetof(TensorImpl, dtype), 4);
  if (left_kind != right_kind || !rhs.is_contiguous()) return false;
  for (int dim = 0; dim < lhs.ndim; ++dim) {
    if (lhs.sizes()[dim] != rhs.sizes()[dim]) return false;
  }
  return true;
}

/// The row kernel for one contiguous operand, or null.
template <typename Function>
[[gnu::always_inline]] inline kernels::RowKernel straight_row(
    const kernels::KernelTable<Function>& table, const Tensor& input) {
  const TensorImpl* const impl = input.impl();
  return is_straight(impl) ? table.find_row(impl->dtype) : nullptr;
}
/// The row kernel for two contiguous operands of one geometry, or null.
template <typename Function>
[[gnu::always_inline]] inline kernels::RowKernel straight_row(
    const kernels::KernelTable<Function>& table, const Tensor& input, const Tensor& other) {
  const TensorImpl* const left = input.impl();
  const TensorImpl* const right = other.impl();
  if (!is_straight(left) || right == nullptr || !has_geometry_of(*left, *right)) return nullptr;
  return table.find_row(left->dtype);
}
/// The row kernel for a contiguous tensor and a number that does not widen it, or null.
template <typename Function>
[[gnu::always_inline]] inline kernels::RowKernel straight_row(
    const kernels::KernelTable<Function>& table, const Tensor& input, const Scalar& other) {
  const TensorImpl* const impl = input.impl();
  if (!is_straight(impl) || other.kind() > kind_of(impl->dtype)) return nullptr;
  return table.find_row(impl->dtype);
}

/// Whether an in-place op may write `self` on the straight path while it reads `other`.
inline bool is_straight_target(const TensorImpl& self) {
  return !self.storage->needs_write_check();
}
inline bool is_straight_target(const TensorImpl& self, const TensorImpl& other) {
  const auto bytes =
      static_cast<ptrdiff_t>(static_cast<size_t>(self.numel) * item_size(self.dtype));
  const ptrdiff_t distance = static_cast<char*>(other.data) - static_cast<char*>(self.data);
  const bool is_apart = distance == 0 || distance >= bytes || distance <= -bytes;
  return is_apart && is_straight_target(self);
}

/// Runs the op on any operands into a new tensor.
template <typename Function>
Tensor run_pointwise(const PointwiseRule& rule, const kernels::KernelTable<Function>& table,
                     std::initializer_list<Operand> operands);

/// Runs the op into `out`, which must have the broadcast shape and a dtype that holds the result.
/// `name` is what messages call `out`: self or out.
template <typename Function>
void run_pointwise_into(const PointwiseRule& rule, const kernels::KernelTable<Function>& table,
                        std::initializer_list<Operand> operands, const char* name,
                        const Tensor& out);

}  // namespace ebb::ops
