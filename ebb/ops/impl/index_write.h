// ebb/ops/impl/index_write.h -- the body of rows of kind index: a copy of a tensor, or itself, to
// which something is written where an index points.
//
// Indices are int64 or int32, must not be negative, and are checked before anything of the user's
// is written. What is written is told by a type for each type of kernel.
#pragma once

#include "ebb/core/base/scalar.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/kernel_table.h"
#include "ebb/kernels/signatures.h"
#include "ebb/ops/impl/copies.h"
#include "ebb/ops/prepare.h"

namespace ebb::ops::impl {

/// Whose memory an op writes: if it is the user's, errors of the index have to come before.
enum class Target : uint8_t { fresh, in_place };

using ScatterTable = kernels::KernelTable<kernels::ScatterAddKernel>;
using IndexAddTable = kernels::KernelTable<kernels::IndexAddKernel>;
using IndexCopyTable = kernels::KernelTable<kernels::IndexCopyKernel>;

/// src, or a number, at the places that gather would read: the kernel joins it with what is there.
struct ScatterWrite {
  static void into(const char* op, const ScatterTable& table, const Tensor& out, Target kind,
                   int64_t dim, const Tensor& index, const Tensor& src);
  static void into(const char* op, const ScatterTable& table, const Tensor& out, Target kind,
                   int64_t dim, const Tensor& index, const Scalar& value);
};
/// alpha times each slice of source, added to the slice that index names.
struct SliceAddition {
  static void into(const char* op, const IndexAddTable& table, const Tensor& out, Target kind,
                   int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha);
};
/// Slices of source, or a number, where the index points.
struct SliceCopy {
  static void into(const char* op, const IndexCopyTable& table, const Tensor& out, Target kind,
                   int64_t dim, const Tensor& index, const Tensor& source);
  static void into(const char* op, const IndexCopyTable& table, const Tensor& out, Target kind,
                   int64_t dim, const Tensor& index, const Scalar& value);
};

/// `operand`, copied if writing `self` could change it meanwhile.
inline Tensor apart_from(const Tensor& self, const Tensor& operand) {
  return may_overlap(self, operand) ? clone(operand) : operand;
}
inline const Scalar& apart_from(const Tensor&, const Scalar& number) { return number; }

template <typename Write, typename Table, typename... Values>
Tensor run_index(const char* op, const Table& table, const Tensor& input, int64_t dim,
                 const Tensor& index, const Values&... values) {
  const Tensor out = clone(input);
  Write::into(op, table, out, Target::fresh, dim, index, values...);
  return out;
}

template <typename Write, typename Table, typename... Values>
const Tensor& run_index_(const char* op, const Table& table, const Tensor& self, int64_t dim,
                         const Tensor& index, const Values&... values) {
  check_writable(op, self);
  Write::into(op, table, self, Target::in_place, dim, apart_from(self, index),
              apart_from(self, values)...);
  note_write(op, self);
  return self;
}

}  // namespace ebb::ops::impl
