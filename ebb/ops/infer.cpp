// ebb/ops/infer.cpp -- shape rules and checks; see the header.
#include "ebb/ops/infer.h"

#include "ebb/core/tensor/tensor_name.h"

namespace ebb::ops::infer {

namespace {

template <typename Normalize>
DimMask mask_of(const char* op, std::optional<IntSpan> dim, int ndim, Normalize normalize) {
  const DimMask all = ndim == kMaxDims ? ~DimMask{0} : (DimMask{1} << ndim) - 1;
  if (!dim.has_value() || dim->empty()) return all;
  DimMask mask = 0;
  for (const int64_t value : *dim) {
    const DimMask bit = DimMask{1} << normalize(value);
    if ((mask & bit) != 0) {
      throw ValueError(
          str(op, ": each dim may appear once, got dim ", value, " twice in ", PrintShape{*dim}));
    }
    mask |= bit;
  }
  return mask & all;  // the only dim of a 0-d tensor is none
}

}  // namespace

DimMask dim_mask(const char* op, std::optional<IntSpan> dim, int ndim) {
  return mask_of(op, dim, ndim, [&](int64_t one) { return normalize_dim(op, one, ndim); });
}
DimMask dim_mask(const char* op, std::optional<IntSpan> dim, const Tensor& input) {
  return mask_of(op, dim, input.ndim(), [&](int64_t one) { return normalize_dim(op, one, input); });
}

std::string describe(const Tensor& tensor) { return describe_tensor(tensor); }

void throw_undefined(const char* op, const char* name) {
  throw ValueError(str(op, ": '", name, "' must be a tensor, got an undefined one"));
}

void check_ndim(const char* op, const char* name, const Tensor& tensor, int min, int max) {
  check_defined(op, name, tensor);
  if (tensor.ndim() >= min && tensor.ndim() <= max) [[likely]]
    return;
  const std::string needed = min == max        ? str("exactly ", min)
                             : max >= kMaxDims ? str("at least ", min)
                             : min == 0        ? str("at most ", max)
                                               : str(min, " to ", max);
  const char* const unit = min == max && min == 1 ? " dim, got " : " dims, got ";
  throw ShapeError(str(op, ": ", name, " needs ", needed, unit, describe(tensor)));
}

void check_out(const char* op, IntSpan shape, DType dtype, const Tensor& out) {
  check_defined(op, "out", out);
  if (!equal(shape, out.sizes())) {
    throw ShapeError(str(op, ": 'out' must have the shape ", PrintShape{shape},
                         " of the result, got ", describe_shape(out)));
  }
  if (kind_of(dtype) > kind_of(out.dtype())) {
    throw DTypeError(
        str(op, ": result type ", dtype, " can't be cast to the type of 'out', ", out.dtype()));
  }
}

void check_same_dtype(const char* op, const char* name, const Tensor& tensor,
                      const char* other_name, const Tensor& other) {
  if (tensor.dtype() == other.dtype()) [[likely]]
    return;
  throw DTypeError(str(op, ": ", name, " and ", other_name, " need one dtype, got ",
                       describe(tensor), " and ", describe(other), "\nhint: cast one of them: ",
                       name, ".to(ebb.", name_of(other.dtype()), ")"));
}

void check_same_shape(const char* op, const char* name, const Tensor& tensor, const Tensor& input) {
  if (equal(tensor.sizes(), input.sizes())) [[likely]]
    return;
  throw ShapeError(str(op, ": ", name, " needs the shape of input, got ", describe(tensor), " for ",
                       describe(input)));
}

void check_result_grad(const char* op, const Tensor& grad, const Shape& result) {
  check_defined(op, "grad", grad);
  if (equal(grad.sizes(), result)) return;
  throw ShapeError(
      str(op, ": grad needs the shape of the result ", result, ", got ", describe(grad)));
}

void check_probability(const char* op, double p) {
  if (!(p >= 0 && p <= 1)) throw ValueError(str(op, ": p must be from 0 to 1, got ", p));
}

void check_same_device(const char* op, const Tensor& input, const Tensor& other) {
  if (input.device() == other.device()) [[likely]]
    return;
  throw ValueError(str(op, ": all tensors need to be on one device, got ",
                       to_string(input.device()), " and ", to_string(other.device()),
                       "\nhint: move one with to(device)"));
}

void check_index_dtype(const char* op, const char* name, const Tensor& index) {
  if (index.dtype() == DType::int64 || index.dtype() == DType::int32) [[likely]]
    return;
  throw DTypeError(str(op, ": ", name, " needs dtype int64 or int32, got ", describe(index)));
}

Shape reshaped(const char* op, const Tensor& input, IntSpan shape) {
  Shape sizes(shape);
  int unknown = -1;
  int64_t known = 1;
  bool overflows = false;
  bool has_zero = false;
  for (int dim = 0; dim < sizes.ndim(); ++dim) {
    const int64_t size = sizes[dim];
    const bool is_unknown = size == -1;
    if (size < -1 || (is_unknown && unknown >= 0)) {
      throw ShapeError(
          str(op, ": shape needs sizes of at least 0 and at most one -1, got ", PrintShape{shape}));
    }
    if (is_unknown) {
      unknown = dim;
    } else if (size == 0) {
      has_zero = true;
    } else {
      overflows |= __builtin_mul_overflow(known, size, &known);
    }
  }
  if (has_zero) known = 0;
  const int64_t numel = input.numel();
  bool fits = (!overflows || has_zero) && known == numel;
  if (unknown >= 0) {
    if (known == 0) {
      throw ShapeError(str(op, ": -1 needs a shape without a size of 0, got ", PrintShape{shape},
                           " for input ", describe(input)));
    }
    fits = !overflows && numel % known == 0;
    if (fits) sizes[unknown] = numel / known;
  }
  if (!fits) {
    throw ShapeError(str(op, ": shape must hold the ", numel, " elements of input, got shape ",
                         PrintShape{shape}, " and input ", describe(input)));
  }
  if (has_zero) checked_numel(op, sizes, item_size(input.dtype()));  // its strides must fit too
  return sizes;
}

}  // namespace ebb::ops::infer
