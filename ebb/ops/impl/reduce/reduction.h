// ebb/ops/impl/reduce/reduction.h -- the body of rows of kind reduce and scan: what is computed in
// which dtype, and what comes of no elements.
#pragma once

#include <optional>
#include <tuple>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/signatures_running.h"
#include "ebb/ops/impl/reduce/reduce_blocks.h"

namespace ebb::ops::impl {

/// `dtype` of a row: what elements are computed in, and what the result has.
enum class ReducedDType : uint8_t {
  same,      // the operand's
  widened,   // integers and bool compute in int64; the result is of another if the call says so
  floating,  // the call's or the operand's, which must be floating or complex
  truth,     // elements as bool, and so the result
  counted    // elements as bool, which int64 counts
};

/// `nothing` of a row: the result of no elements.
enum class OfNothing : uint8_t {
  computed,  // what the kernel makes of none
  yes,       // true
  refused    // an error
};

/// A row of kind reduce.
struct ReductionRule {
  const char* op;
  ReducedDType dtype;
  OfNothing nothing;
  bool has_dim;  // the call may name dims, as errors then do
};

/// Reduces over `dim`, none or an empty list for all.
EBB_API Tensor run_reduction(const ReductionRule& rule, const ReduceTable& table,
                             const Tensor& input, std::optional<IntSpan> dim, bool keepdim,
                             std::optional<DType> dtype);

using MaxDimTable = kernels::KernelTable<kernels::MaxDimKernel>;

/// The element that the kernel looks for along `dim`, and where it first is. Throws IndexError for
/// a dim of size 0.
EBB_API std::tuple<Tensor, Tensor> run_extremum(const char* op, const MaxDimTable& table,
                                                const Tensor& input, int64_t dim, bool keepdim);
/// Where it is, along `dim` or in the elements one after the other.
EBB_API Tensor run_place(const char* op, const MaxDimTable& table, const Tensor& input,
                         std::optional<int64_t> dim, bool keepdim);

using ScanTable = kernels::KernelTable<kernels::ScanKernel>;
using RunningExtremumTable = kernels::KernelTable<kernels::RunningExtremumKernel>;

/// A row of kind scan. A 0-d tensor counts as one of shape [1], as in PyTorch.
struct ScanRule {
  const char* op;
  ReducedDType dtype;  // same or widened
};

/// What is known of all elements up to each along `dim`; `reversed`: from each on.
EBB_API Tensor run_scan(const ScanRule& rule, const ScanTable& table, const Tensor& input,
                        int64_t dim, std::optional<DType> dtype, bool reversed);
/// The largest, or smallest, of those, and where it is.
EBB_API std::tuple<Tensor, Tensor> run_scan(const ScanRule& rule, const RunningExtremumTable& table,
                                            const Tensor& input, int64_t dim,
                                            std::optional<DType> dtype, bool largest);

}  // namespace ebb::ops::impl
