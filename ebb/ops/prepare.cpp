// ebb/ops/prepare.cpp -- checks, promotion, broadcasting and casts of pointwise operands.
#include "ebb/ops/prepare.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ebb/core/base/number_range.h"
#include "ebb/core/tensor/announced_write.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/core/tensor/tensor_name.h"
#include "ebb/kernels/tables/cast.h"
#include "ebb/ops/broadcast.h"
#include "ebb/ops/copy.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops {
namespace {

/// Whether the memory of both meets, other than as the very same elements in the same order.
bool overlaps_partly(const Tensor& lhs, const Tensor& rhs) {
  const bool same_elements = lhs.data_ptr() == rhs.data_ptr() && lhs.dtype() == rhs.dtype() &&
                             equal(lhs.sizes(), rhs.sizes()) && equal(lhs.strides(), rhs.strides());
  if (same_elements) return false;
  const ByteRange left = byte_range(lhs);
  const ByteRange right = byte_range(rhs);
  if (left.empty || right.empty) return false;
  // Absolute addresses: two storages may stand for one piece of foreign memory.
  const auto left_base = reinterpret_cast<uintptr_t>(lhs.impl()->storage->data());
  const auto right_base = reinterpret_cast<uintptr_t>(rhs.impl()->storage->data());
  return left_base + left.first <= right_base + right.last &&
         right_base + right.first <= left_base + left.last;
}

}  // namespace

void Promotion::join(DType& rank, DType dtype) {
  rank = rank == kNone ? dtype : promote(rank, dtype);
}

void Promotion::add(const TensorImpl& tensor) {
  join(tensor.ndim == 0 ? zero_dim_ : dimensioned_, tensor.dtype);
}

DType Promotion::combine(DType higher, DType lower) {
  if (higher == kNone) return lower;
  if (lower == kNone || kind_of(lower) <= kind_of(higher)) return higher;
  // A float tensor keeps its precision when a weaker complex operand joins it.
  if (is_floating(higher)) return complex_type_of(higher);
  return promote(higher, lower);
}

DType Promotion::result() const { return combine(combine(dimensioned_, zero_dim_), numbers_); }

namespace {

/// `number` as an element of a half type, but for those that would become infinite.
float compared_with(DType dtype, float number) {
  const float element = dtype == DType::float16 ? static_cast<float>(Half(number))
                                                : static_cast<float>(BFloat16(number));
  return std::isinf(element) ? number : element;
}

}  // namespace

void ScalarView::store_other(const Scalar& scalar, const char* op, NumberUse use) {
  if (!is_half(dtype_) || use == NumberUse::stored) {
    if (use == NumberUse::stored) warn_of_range(op, scalar, dtype_);
    return scalar.store_as(dtype_, bytes_, op);
  }
  const auto number = static_cast<float>(scalar.to_double());
  *reinterpret_cast<float*>(bytes_) =
      use == NumberUse::compared ? compared_with(dtype_, number) : number;
  dtype_ = DType::float32;
}

Prepared::Prepared(const PointwiseRule& rule, std::span<const Operand> operands)
    : rule_(rule), operands_(operands) {
  for (const Operand& operand : operands) check(operand);
  infer_dtype();
  infer_shape();
}

void Prepared::check(const Operand& operand) {
  if (operand.tensor == nullptr) return;
  const Tensor& tensor = *operand.tensor;
  if (!tensor.defined()) {
    throw ValueError(
        str(rule_.op, ": '", operand.name, "' must be a tensor, got an undefined one"));
  }
  require_strided(rule_.op, operand.name, tensor);
  if ((operand.accepted >> static_cast<int>(tensor.dtype()) & 1u) == 0) {
    throw_not_accepted(rule_.op, operand.name, tensor, operand.accepted);
  }
  if (first_ == nullptr) {
    first_ = &tensor;
    device_ = tensor.device();
  } else if (tensor.device() != device_) {
    join_device(tensor);
  }
}

/// Settles on one device for `tensor` and what came before: numbers of the CPU travel.
void Prepared::join_device(const Tensor& tensor) {
  if (tensor.ndim() == 0 && tensor.device() == Device{}) return;
  for (const Operand& operand : operands_) {
    if (operand.tensor == &tensor) break;
    if (operand.tensor == nullptr || operand.tensor->device() != device_) continue;
    if (operand.tensor->ndim() == 0 && device_ == Device{}) continue;
    throw ValueError(str(rule_.op, ": all operands must be on one device, got ", to_string(device_),
                         " and ", to_string(tensor.device()), "\nhint: move one with to(device)"));
  }
  device_ = tensor.device();
}

namespace {

DType result_dtype(ResultRule rule, DType computed) {
  switch (rule) {
    case ResultRule::boolean: return DType::boolean;
    case ResultRule::real: return real_type_of(computed);
    case ResultRule::complex: return complex_type_of(computed);
    case ResultRule::same: break;
  }
  return computed;
}

}  // namespace

void Prepared::infer_dtype() {
  Promotion promotion;
  for (const Operand& operand : operands_) {
    if (operand.is_condition) continue;
    if (operand.tensor != nullptr) {
      promotion.add(*operand.tensor->impl());
    } else {
      promotion.add(*operand.scalar);
    }
  }
  dtype_ = promotion.result();
  if (rule_.dtype == DTypeRule::promote_float && !is_differentiable(dtype_)) {
    dtype_ = default_dtype();
  }
  if (rule_.dtype == DTypeRule::promote_number && dtype_ == DType::boolean) dtype_ = DType::int64;
  out_dtype_ = result_dtype(rule_.result, dtype_);
}

void Prepared::infer_shape() {
  int ndim = 0;
  for (const Operand& operand : operands_) {
    if (operand.tensor != nullptr) ndim = std::max<int>(ndim, operand.tensor->impl()->ndim);
  }
  shape_.resize(ndim);
  for (int dim = 0; dim < ndim; ++dim) shape_[dim] = 1;
  for (const Operand& operand : operands_) {
    if (operand.tensor != nullptr && !widen_shape(*operand.tensor->impl())) throw_shapes();
  }
}

/// Joins the sizes of one operand; false if they do not fit.
bool Prepared::widen_shape(const TensorImpl& tensor) {
  const int lead = shape_.ndim() - tensor.ndim;
  for (int dim = 0; dim < tensor.ndim; ++dim) {
    const int64_t size = tensor.sizes()[dim];
    int64_t& joined = shape_[lead + dim];
    if (size == joined || size == 1) continue;
    if (joined != 1) return false;
    joined = size;
  }
  return true;
}

void Prepared::throw_shapes() const {
  for (size_t right = 1; right < operands_.size(); ++right) {
    for (size_t left = 0; left < right; ++left) {
      const Operand &one = operands_[left], &other = operands_[right];
      if (one.tensor == nullptr || other.tensor == nullptr) continue;
      broadcast_operands(rule_.op, {one.name, *one.tensor}, {other.name, *other.tensor});
    }
  }
  throw InternalError(str(rule_.op, ": shapes must broadcast together, got others"));
}

NumberUse Prepared::number_use() const {
  if (rule_.result == ResultRule::boolean) return NumberUse::compared;
  return operands_[0].is_condition ? NumberUse::stored : NumberUse::computed;
}

/// A tensor without dims of a wider type stays as wide as numbers are.
DType Prepared::dtype_for(const Operand& operand) const {
  if (operand.is_condition) return DType::boolean;
  const bool is_number = is_half(dtype_) && operand.tensor != nullptr &&
                         operand.tensor->ndim() == 0 && !is_half(operand.tensor->dtype()) &&
                         number_use() == NumberUse::computed;
  return is_number ? number_type_of(dtype_) : dtype_;
}

void Prepared::materialize() {
  for (size_t index = 0; index < operands_.size(); ++index) {
    const Operand& operand = operands_[index];
    const DType wanted = dtype_for(operand);
    if (operand.tensor == nullptr) {
      numbers_[index].store(*operand.scalar, dtype_, rule_.op, number_use());
    } else if (operand.tensor->dtype() != wanted) {
      copies_[index] = copy_as(rule_.op, *operand.tensor, wanted);
    }
  }
}

void Prepared::separate_from(const Tensor& out) {
  for (size_t index = 0; index < operands_.size(); ++index) {
    if (operands_[index].tensor == nullptr || !overlaps_partly(tensor(index), out)) continue;
    copies_[index] = copy_as(rule_.op, tensor(index), tensor(index).dtype());
  }
}

kernels::TensorView Prepared::view(size_t index) const {
  if (operands_[index].tensor == nullptr) return numbers_[index].view();
  kernels::TensorView view = view_of(tensor(index));
  // A number of the CPU's is told by its type: float32 beside half types.
  view.on_host = tensor(index).device() != device_ ||
                 (is_on_host(device_) && is_half(dtype_) && view.dtype == DType::float32);
  return view;
}

Tensor Prepared::make_out() const {
  for (const Tensor& copy : copies_) {
    const bool fits = copy.defined() && copy.dtype() == out_dtype_ && copy.device() == device_ &&
                      equal(shape_, copy.sizes());
    if (fits) return copy;  // kernels read an element before they write it, as in place
  }
  return empty(shape_, out_dtype_, device_);
}

Tensor copy_as(const char* op, const Tensor& tensor, DType dtype) {
  if (!is_on_host(tensor)) {  // whose device may need the CPU for it
    return tensor.dtype() == dtype ? ops::clone(tensor) : ops::cast(tensor, dtype);
  }
  const kernels::CastKernel cast = kernel_for(op, kernels::cast_kernels, tensor);
  Tensor copy = empty_like(tensor, dtype);
  cast(context_of(tensor), view_of(tensor), view_of(copy));
  return copy;
}

void check_writable(const char* op, const Tensor& tensor) {
  require_strided(op, "what is written", tensor);
  {
    const detail::AnnouncedWrite announced(tensor.impl());
    tensor.impl()->storage->prepare_write();
  }
  if (tensor.impl()->storage->is_read_only()) {
    throw ValueError(str(op, ": the tensor that is written must be writable, got ",
                         describe_tensor(tensor),
                         " over read-only memory\nhint: clone() it first"));
  }
  if (!tensor.is_contiguous() && has_internal_overlap(tensor)) {
    throw ValueError(str(op, ": no two elements of what is written may share memory, got shape ",
                         describe_shape(tensor), " with strides ", PrintShape{tensor.strides()},
                         "\nhint: clone() it first"));
  }
}

void note_write(const char* op, const Tensor& self) {
  const TensorImpl& impl = *self.impl();
  if (impl.numel == 0) return;
  const ByteRegion region = impl.hides_writes() ? ByteRegion() : region_of(impl);
  impl.storage->note_write(op, thread_state.location, region);
}

void throw_not_accepted(const char* op, const char* name, const Tensor& got, uint32_t accepted) {
  std::string names;
  DType usual = got.dtype();  // what to cast to: the accepted one that programs use most
  for (int index = 0; index < kDTypeCount; ++index) {
    if ((accepted >> index & 1u) == 0) continue;
    const DType dtype = static_cast<DType>(index);
    const bool is_first = names.empty();
    if (is_first || dtype == DType::float32 || dtype == DType::int64) usual = dtype;
    if (!is_first) names += ", ";
    names += name_of(dtype);
  }
  throw DTypeError(str(op, ": '", name, "' must have dtype ", names, ", got ", got.dtype(),
                       naming_of(got), "\nhint: cast it: .to(ebb.", name_of(usual), ")"));
}

}  // namespace ebb::ops
