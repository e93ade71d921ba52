// ebb/core/tensor/memory_format.h -- in which order the dims of a tensor lie in memory, by name.
//
// Row-major order is "contiguous_format". In "channels_last" the four dims of images [batch,
// channels, height, width] lie in memory in the order batch, height, width, channels, and
// "channels_last_3d" is the same of five dims. "preserve_format" is as a given tensor lies.
#pragma once

#include <string_view>

#include "ebb/core/tensor/tensor.h"

namespace ebb {

enum class MemoryFormat : uint8_t { contiguous, preserve, channels_last, channels_last_3d };

/// Throws ValueError for a name that is none.
EBB_API MemoryFormat memory_format_of(const char* op, std::string_view name);

/// Strides of `like` in a format, without gaps. Throws ShapeError for a tensor of other than the
/// dims that the format takes.
EBB_API Shape strides_in(const char* op, const Tensor& like, MemoryFormat format);

/// Whether elements lie in a format without gaps; sizes of 1 lie anywhere. A tensor of other dims
/// than the format takes does not.
EBB_API bool lies_in(const Tensor& tensor, MemoryFormat format);

}  // namespace ebb
