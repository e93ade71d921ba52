// ebb/core/tensor/tensor_name.h -- what tensors are called, and how every message describes one.
//
// Few tensors have a name, so it is kept beside them (autograd/tensor_name.h says where): a tensor
// without one costs nothing. All of this is for messages and views, off the hot path.
#pragma once

#include <string>

#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// Two ways in which a tensor comes by a name; "" where it has none.
struct TensorNames {
  std::string given;  // by the program, with set_name()
  std::string path;   // of a module's parameter or buffer: "layers.0.weight"

  const std::string& title() const { return given.empty() ? path : given; }
};

/// What is kept beside a tensor and knows its names.
class EBB_API Named : public AutogradMetaBase {
 public:
  virtual TensorNames names() const = 0;
};

EBB_API TensorNames names_of(const TensorImpl& tensor);
/// The name that set_name() gave; "" if none, or for no tensor.
EBB_API std::string name_of(const Tensor& tensor);

/// " named 'w'"; " viewing 'w'" for an unnamed view of it; "" where there is nothing to say.
EBB_API std::string naming_of(const TensorImpl& tensor);
inline std::string naming_of(const Tensor& tensor) {
  return tensor.defined() ? naming_of(*tensor.impl()) : std::string();
}
/// The same for a name that is known already.
EBB_API std::string naming(const std::string& title);

/// "float32 [3, 4] named 'w'": what messages say of a tensor.
EBB_API std::string describe_tensor(const TensorImpl& tensor);
EBB_API std::string describe_tensor(const Tensor& tensor);
/// "[3, 4] named 'w'", where only the shape matters.
EBB_API std::string describe_shape(const Tensor& tensor);

/// normalize_dim() of shape.h for a dim of `tensor`, or of one with `more` dims than it: the error
/// describes the tensor.
EBB_API int normalize_dim(const char* op, int64_t dim, const Tensor& tensor, int more = 0);

}  // namespace ebb
