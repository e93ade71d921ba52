// ebb/core/tensor/item.cpp -- the one element of a tensor, wherever it is.
#include <complex>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/core/tensor/tensor_name.h"

namespace ebb {

Scalar Tensor::item_scalar() const {
  if (numel() != 1) {
    throw ValueError(str("item: needs a tensor of one element, got shape ", describe_shape(*this),
                         "\nhint: reduce it first, as by x.mean(), or take all by x.tolist()"));
  }
  if (is_meta(*this)) throw_no_elements("item");
  const Tensor readable = host_copy(*this);
  return visit_dtype(dtype(), [&]<typename T>(TypeTag<T>) -> Scalar {
    const T value = *static_cast<const T*>(readable.impl()->data);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return static_cast<float>(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      return std::complex<double>(value);
    }
  });
}

}  // namespace ebb
