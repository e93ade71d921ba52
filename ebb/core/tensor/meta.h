// ebb/core/tensor/meta.h -- tensors on meta: everything but elements.
//
// Shape, dtype, strides and history are as anywhere else, and no memory is taken. Ops run as on any
// device, with kernels that do nothing (ops/view_of.cpp registers them). Whoever would read an
// element, or make a shape of some, throws NoElements; whoever only checks elements leaves it out.
#pragma once

#include "ebb/core/base/error.h"
#include "ebb/core/base/export.h"
#include "ebb/core/device/meta_device.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// What was asked for depends on elements, and a tensor on meta has none.
class EBB_API NoElements : public NotImplementedError {
 public:
  using NotImplementedError::NotImplementedError;
  ~NoElements() override;
};

inline bool is_meta(const Tensor& tensor) { return is_meta(tensor.impl()->device); }

/// Throws NoElements: `op` needs those of a tensor on meta.
[[noreturn]] EBB_API void throw_no_elements(const char* op, const char* hint = nullptr);

}  // namespace ebb
