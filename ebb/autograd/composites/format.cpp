// ebb/autograd/composites/format.cpp -- copies, and tensors like a given one, whose dims lie in
// memory in an order that has a name (core/tensor/memory_format.h); fill_ by a tensor.
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/operands/copy.h"
#include "ebb/autograd/operands/creation.h"
#include "ebb/autograd/ops/clone.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/autograd/ops/empty_like.h"
#include "ebb/autograd/ops/fill_.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/memory_format.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

Tensor memory_like(const char* op, const Tensor& input, MemoryFormat format,
                   std::optional<DType> dtype, std::optional<Device> device) {
  const Tensor memory = empty_like(input, dtype, device);
  return make_alias(memory, input.sizes(), strides_in(op, input, format), 0);
}

Tensor copied(const char* op, const Tensor& input, MemoryFormat format) {
  const Tensor out = memory_like(op, input, format, std::nullopt, std::nullopt);
  return copy_(out, input);
}

}  // namespace

Tensor clone(const Tensor& input, std::string_view memory_format) {
  const autograd::operands::clone_format call(input);
  return copied("clone", input, memory_format_of("clone", memory_format));
}

Tensor contiguous(const Tensor& input, std::string_view memory_format) {
  const autograd::operands::contiguous_format call(input);
  const MemoryFormat format = memory_format_of("contiguous", memory_format);
  if (format == MemoryFormat::preserve) {
    throw ValueError(
        str("contiguous: memory_format must say an order, got ", in_quotes(memory_format)));
  }
  return lies_in(input, format) ? input : copied("contiguous", input, format);
}

Tensor empty_like(const Tensor& input, std::string_view memory_format, std::optional<DType> dtype,
                  std::optional<Device> device) {
  const autograd::operands::empty_like_format call(input);
  const MemoryFormat format = memory_format_of("empty_like", memory_format);
  return memory_like("empty_like", input, format, dtype, device);
}

const Tensor& fill_(const Tensor& self, const Tensor& value) {
  const autograd::operands::fill__Tensor_inplace call(self, value);
  ops::infer::check_ndim("fill_", "value", value, 0, 0);
  return copy_(self, value);
}

}  // namespace ebb
