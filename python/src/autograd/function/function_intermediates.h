// python/src/autograd/function/function_intermediates.h -- attributes of ctx with tensors that
// forward() computed and nobody recorded.
#pragma once

#include <span>

#include "python/src/autograd/function/function_context.h"

namespace ebb::python {

/// Notes whether attributes hold tensors that forward() computed: derivatives through them are
/// refused (IntermediatesScope).
void look_for_intermediates(ContextObject* context, std::span<const Tensor> inputs,
                            std::span<const Tensor> outputs);

/// While backward() is recorded: attributes with tensors of unknown history stand as aliases that
/// refuse derivatives; the destructor puts the tensors back.
class IntermediatesScope {
 public:
  IntermediatesScope(ContextObject* context, autograd::Node& node);
  ~IntermediatesScope();
  IntermediatesScope(const IntermediatesScope&) = delete;
  IntermediatesScope& operator=(const IntermediatesScope&) = delete;

 private:
  ContextObject* context_;
  PyObject* originals_ = nullptr;  // by name; null if there are none
};

}  // namespace ebb::python
