// ebb/core/tensor/tensor_name.cpp -- names of tensors in words.
#include "ebb/core/tensor/tensor_name.h"

#include <algorithm>

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"

namespace ebb {

TensorNames names_of(const TensorImpl& tensor) {
  const auto* const named = dynamic_cast<const Named*>(tensor.meta);
  return named == nullptr ? TensorNames() : named->names();
}

std::string name_of(const Tensor& tensor) {
  return tensor.defined() ? names_of(*tensor.impl()).given : std::string();
}

std::string naming(const std::string& title) {
  return title.empty() ? std::string() : str(" named ", in_quotes(title));
}

std::string naming_of(const TensorImpl& tensor) {
  const std::string own = names_of(tensor).title();
  const TensorImpl* const base = own.empty() ? tensor.base() : nullptr;
  if (base == nullptr) return naming(own);
  const std::string viewed = names_of(*base).title();
  return viewed.empty() ? std::string() : str(" viewing ", in_quotes(viewed));
}

std::string describe_tensor(const TensorImpl& tensor) {
  return str(tensor.dtype, ' ', PrintShape{tensor.shape()}, naming_of(tensor));
}
std::string describe_tensor(const Tensor& tensor) {
  return tensor.defined() ? describe_tensor(*tensor.impl()) : "an undefined tensor";
}
std::string describe_shape(const Tensor& tensor) {
  return str(PrintShape{tensor.sizes()}, naming_of(tensor));
}

int normalize_dim(const char* op, int64_t dim, const Tensor& tensor, int more) {
  const int64_t bound = std::max(tensor.ndim() + more, 1);
  if (dim < -bound || dim >= bound) [[unlikely]] {
    throw IndexError(str(op, ": dim must be from ", -bound, " to ", bound - 1, ", got ", dim,
                         " for ", describe_tensor(tensor)));
  }
  return static_cast<int>(dim < 0 ? dim + bound : dim);
}

}  // namespace ebb
