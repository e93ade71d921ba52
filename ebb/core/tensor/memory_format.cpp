// ebb/core/tensor/memory_format.cpp -- see memory_format.h.
#include "ebb/core/tensor/memory_format.h"

#include <algorithm>
#include <numeric>

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"

namespace ebb {
namespace {

int dims_of(MemoryFormat format) { return format == MemoryFormat::channels_last ? 4 : 5; }

bool takes_images(MemoryFormat format) {
  return format == MemoryFormat::channels_last || format == MemoryFormat::channels_last_3d;
}

/// Whether a dim lies further out than another that now stands outside it: 1 yes, -1 no, 0 if
/// strides do not tell, as those of repeated elements.
int lies_outside(const Tensor& like, int64_t dim, int64_t other) {
  const auto inner = static_cast<size_t>(dim), outer = static_cast<size_t>(other);
  const int64_t stride = like.strides()[inner], other_stride = like.strides()[outer];
  if (stride == 0 || other_stride == 0) return 0;
  if (stride != other_stride) return stride > other_stride ? 1 : -1;
  return like.sizes()[inner] > like.sizes()[outer] ? 1 : 0;
}

/// The dims as their strides say that they lie, outermost first; in row-major order where strides
/// do not tell.
Shape order_of_strides(const Tensor& like) {
  Shape order = like.shape();
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int next = order.ndim() - 2; next >= 0; --next) {
    int moving = next;
    for (int inner = next + 1; inner < order.ndim(); ++inner) {
      const int answer = lies_outside(like, order[inner], order[moving]);
      if (answer < 0) break;
      if (answer == 0) continue;
      std::swap(order[inner], order[moving]);
      moving = inner;
    }
  }
  return order;
}

/// The dims as they lie in memory, the outermost first.
Shape order_in(const Tensor& like, MemoryFormat format) {
  if (format == MemoryFormat::preserve) return order_of_strides(like);
  Shape order = like.shape();
  std::iota(order.begin(), order.end(), int64_t{0});
  if (takes_images(format)) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

/// Strides of dims that lie in `order` without gaps.
Shape packed_strides(IntSpan sizes, const Shape& order) {
  Shape strides(sizes);
  int64_t step = 1;
  for (int place = order.ndim(); place-- > 0;) {
    const int dim = static_cast<int>(order[place]);
    strides[dim] = step;
    step *= std::max<int64_t>(sizes[static_cast<size_t>(dim)], 1);
  }
  return strides;
}

/// Whether `strides` are those of `tensor`, but for sizes of 1.
bool has_strides(const Tensor& tensor, const Shape& strides) {
  for (int dim = 0; dim < tensor.ndim(); ++dim) {
    if (tensor.size(dim) != 1 && tensor.strides()[static_cast<size_t>(dim)] != strides[dim]) {
      return false;
    }
  }
  return true;
}

}  // namespace

MemoryFormat memory_format_of(const char* op, std::string_view name) {
  if (name == "contiguous_format") return MemoryFormat::contiguous;
  if (name == "preserve_format") return MemoryFormat::preserve;
  if (name == "channels_last") return MemoryFormat::channels_last;
  if (name == "channels_last_3d") return MemoryFormat::channels_last_3d;
  throw ValueError(str(op,
                       ": memory_format needs contiguous_format, preserve_format, channels_last or "
                       "channels_last_3d, got ",
                       in_quotes(name)));
}

Shape strides_in(const char* op, const Tensor& like, MemoryFormat format) {
  if (takes_images(format) && like.ndim() != dims_of(format)) {
    throw ShapeError(str(op, ": this memory_format needs ", dims_of(format), " dims, got shape ",
                         PrintShape{like.sizes()}));
  }
  const Shape packed = packed_strides(like.sizes(), order_in(like, format));
  const bool is_dense = like.numel() == 0 || has_strides(like, packed);
  return format == MemoryFormat::preserve && is_dense ? Shape(like.strides()) : packed;
}

bool lies_in(const Tensor& tensor, MemoryFormat format) {
  if (format == MemoryFormat::contiguous) return tensor.is_contiguous();
  if (takes_images(format) && tensor.ndim() != dims_of(format)) return false;
  return has_strides(tensor, packed_strides(tensor.sizes(), order_in(tensor, format)));
}

}  // namespace ebb
