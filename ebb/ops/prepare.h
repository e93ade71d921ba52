// ebb/ops/prepare.h -- operands of a pointwise op on their way to a kernel: Prepared.
//
// The constructor checks and infers (dtype and shape) without touching memory; materialize() then
// casts what has another dtype. A number from the user's program becomes a 0-d view on the stack.
#pragma once

#include <cstdint>
#include <span>

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::ops {

/// How the dtype that an op computes in follows from its operands.
enum class DTypeRule : uint8_t { promote, promote_float, promote_number };

/// The dtype of the result: the one computed in, bool, that of its real parts, or the complex one.
enum class ResultRule : uint8_t { same, boolean, real, complex };

/// What the op table says of a pointwise op.
struct PointwiseRule {
  const char* op;
  DTypeRule dtype = DTypeRule::promote;
  ResultRule result = ResultRule::same;

  constexpr PointwiseRule named(const char* form) const { return {form, dtype, result}; }
};

/// One operand as the op got it: a tensor or a number.
struct Operand {
  const char* name;
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
  uint32_t accepted = ~0u;    // bit i: DType(i) is accepted
  bool is_condition = false;  // takes no part in promotion

  Operand(const char* name, const Tensor& tensor, uint32_t accepted, bool is_condition = false)
      : name(name), tensor(&tensor), accepted(accepted), is_condition(is_condition) {}
  Operand(const char* name, const Scalar& scalar) : name(name), scalar(&scalar) {}
};

/// What becomes of a number beside half types: it is computed with in float32; compared as it would
/// be stored, unless it would become infinite; stored among the elements.
enum class NumberUse : uint8_t { computed, compared, stored };

/// What numbers of a dtype are computed in: float32 for half types, so that a number and a count
/// beside them are neither rounded nor out of range.
constexpr DType number_type_of(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

/// A number as a kernel sees it: 0-d, of the dtype that its kind of use asks for.
class ScalarView {
 public:
  ScalarView() = default;
  /// Throws ValueError, naming `op`, if an integer type cannot hold it.
  ScalarView(const Scalar& scalar, DType dtype, const char* op,
             NumberUse use = NumberUse::computed) {
    store(scalar, dtype, op, use);
  }

  void store(const Scalar& scalar, DType dtype, const char* op, NumberUse use) {
    dtype_ = dtype;
    if (dtype == DType::float32) {
      *reinterpret_cast<float*>(bytes_) = static_cast<float>(scalar.to_double());
    } else {
      store_other(scalar, op, use);
    }
  }
  const void* data() const { return bytes_; }
  kernels::TensorView view() const {
    return {const_cast<unsigned char*>(bytes_), nullptr, nullptr, 1, 0, dtype_, true, true};
  }

 private:
  EBB_API void store_other(const Scalar& scalar, const char* op, NumberUse use);

  alignas(16) unsigned char bytes_[16];
  DType dtype_ = DType::float32;
};

/// The dtype that operands promote to: tensors with dims first, then 0-d tensors, then numbers; a
/// later rank counts only if its kind of number is higher (PyTorch's rule).
class Promotion {
 public:
  void add(const TensorImpl& tensor);
  void add(const Scalar& scalar) { join(numbers_, scalar.default_dtype()); }
  /// The common dtype. There must have been an operand.
  DType result() const;

 private:
  static constexpr DType kNone = static_cast<DType>(kDTypeCount);
  static void join(DType& rank, DType dtype);
  static DType combine(DType higher, DType lower);

  DType dimensioned_ = kNone;
  DType zero_dim_ = kNone;
  DType numbers_ = kNone;
};

/// See the top of the file. Lives on the stack for one call; refers to the operands.
class Prepared {
 public:
  static constexpr size_t kMaxOperands = 3;

  /// Throws ValueError (undefined operand, devices), DTypeError or ShapeError, naming the op.
  Prepared(const PointwiseRule& rule, std::span<const Operand> operands);

  DType dtype() const { return dtype_; }  // what the kernel computes in
  DType out_dtype() const { return out_dtype_; }
  const Shape& shape() const { return shape_; }
  Device device() const { return device_; }

  /// Casts operands to dtype().
  void materialize();
  /// Copies operands whose memory a write to `out` would change under way. After materialize().
  void separate_from(const Tensor& out);
  kernels::TensorView view(size_t index) const;
  /// Memory for the result: that of a converted operand of the same kind, or fresh. After
  /// materialize().
  Tensor make_out() const;

 private:
  void check(const Operand& operand);
  void join_device(const Tensor& tensor);
  void infer_dtype();
  void infer_shape();
  bool widen_shape(const TensorImpl& tensor);
  [[noreturn]] void throw_shapes() const;
  NumberUse number_use() const;
  DType dtype_for(const Operand& operand) const;
  const Tensor& tensor(size_t index) const {
    return copies_[index].defined() ? copies_[index] : *operands_[index].tensor;
  }

  const PointwiseRule& rule_;
  std::span<const Operand> operands_;
  const Tensor* first_ = nullptr;
  Device device_;  // that of the operands; 0-d ones on the CPU go along with any
  DType dtype_ = DType::float32;
  DType out_dtype_ = DType::float32;
  Shape shape_;
  Tensor copies_[kMaxOperands];
  ScalarView numbers_[kMaxOperands];
};

/// A contiguous copy in another dtype (or the same).
EBB_API Tensor copy_as(const char* op, const Tensor& tensor, DType dtype);

/// Throws ValueError unless `tensor` may be written by an in-place op: not read-only, and no two
/// elements share memory.
EBB_API void check_writable(const char* op, const Tensor& tensor);

/// Logs a write of all of `self` by `op`, at the location set by the recording layer.
EBB_API void note_write(const char* op, const Tensor& self);

/// Throws DTypeError: the operand `name` has a dtype that is not accepted.
[[noreturn]] EBB_API void throw_not_accepted(const char* op, const char* name, const Tensor& got,
                                             uint32_t accepted);

}  // namespace ebb::ops
