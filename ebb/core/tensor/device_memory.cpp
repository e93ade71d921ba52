// ebb/core/tensor/device_memory.cpp -- who uses a tensor's block, and copies between devices.
#include "ebb/core/tensor/device_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/stream.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/pinned.h"
#include "ebb/core/tensor/sparse.h"

namespace ebb {
namespace {

using detail::DeviceBlock;

DeviceBlock* block_of(const Tensor& tensor) {
  return static_cast<DeviceBlock*>(device_block_of(*tensor.impl()->storage));
}

/// The bytes from the first element of a tensor to the last.
struct Span {
  char* start = nullptr;
  size_t bytes = 0;
};

Span span_of(const Tensor& tensor) {
  require_strided("copy", "tensor", tensor);
  const ByteRange range = byte_range(tensor);
  if (range.empty) return {};
  char* const base = static_cast<char*>(tensor.impl()->storage->data());
  return {base + range.first, range.last - range.first + 1};
}

/// Where a copy runs: the device's current stream, which from now on uses the tensor's memory.
NativeStream stream_for(const Tensor& tensor) {
  const Stream stream = current_stream(tensor.device());
  block_of(tensor)->note_use(stream);
  return native_stream(stream);
}

/// `from` is memory of `source`, a tensor of the host.
void copy_in(const Tensor& target, const Span& to, const Tensor& source, const void* from) {
  const Device device = target.device();
  const auto late = detail::late_copy_of(source, device);
  const auto copy = late != nullptr ? late : plugin_of("copy", device).copy_to_device;
  check_device_call(copy(device.index, to.start, from, to.bytes, stream_for(target)),
                    "copy_to_device", device);
}

void copy_out(const Tensor& source, const Span& from, void* to) {
  const Device device = source.device();
  const DevicePlugin& plugin = plugin_of("copy", device);
  check_device_call(
      plugin.copy_to_host(device.index, to, from.start, from.bytes, stream_for(source)),
      "copy_to_host", device);
  synchronize(current_stream(device));
}

void copy_across(const Tensor& target, const Span& to, const Tensor& source, const Span& from) {
  const Stream giver = current_stream(source.device());
  const Stream taker = current_stream(target.device());
  const DevicePlugin& plugin = plugin_of("copy", source.device());
  order_streams(taker, giver);  // the memory is the taker's from its stream's point on
  const int status = plugin.copy_on_device(taker.device.index, to.start, giver.device.index,
                                           from.start, from.bytes, stream_for(source));
  check_device_call(status, "copy_on_device", giver.device);
  order_streams(giver, taker);
}

/// Calls `use(offset, bytes)` for each stretch of memory without gaps that elements of the tensor
/// fill; the offset is in bytes from its first element.
template <typename Use>
void for_each_stretch(const Tensor& tensor, Use&& use) {
  struct Dim {
    int64_t size, stride;  // in bytes
    int64_t index = 0;
  };
  const auto item = static_cast<int64_t>(item_size(tensor.dtype()));
  std::vector<Dim> dims;
  for (size_t dim = 0; dim < tensor.sizes().size(); ++dim) {
    const int64_t stride = tensor.strides()[dim] * item;
    if (tensor.sizes()[dim] > 1 && stride != 0) dims.push_back({tensor.sizes()[dim], stride});
  }
  std::sort(dims.begin(), dims.end(),
            [](const Dim& a, const Dim& b) { return std::abs(a.stride) < std::abs(b.stride); });
  int64_t stretch = item;
  auto outer = dims.begin();
  for (; outer != dims.end() && outer->stride == stretch; ++outer) stretch *= outer->size;
  int64_t offset = 0;
  while (true) {
    use(offset, static_cast<size_t>(stretch));
    auto dim = outer;
    for (; dim != dims.end() && ++dim->index == dim->size; ++dim) {
      offset -= (dim->size - 1) * dim->stride;
      dim->index = 0;
    }
    if (dim == dims.end()) return;
    offset += dim->stride;
  }
}

/// Memory on `device` for the span of `tensor`, and a tensor of the same geometry over it.
Tensor twin_on(const Tensor& tensor, const Span& span, Device device) {
  const TensorImpl& source = *tensor.impl();
  Storage* const storage = Storage::allocate(std::max<size_t>(span.bytes, 1), device);
  const auto lead = span.bytes == 0 ? 0 : static_cast<char*>(source.data) - span.start;
  TensorImpl* const impl = TensorImpl::create(source.ndim, source.dtype, storage,
                                              static_cast<char*>(storage->data()) + lead);
  impl->copy_geometry(source);
  return Tensor::adopt(impl);
}

}  // namespace

void record_stream(const Tensor& tensor, Stream stream) {
  if (stream.device != tensor.device()) {
    throw ValueError(str("record_stream: needs a stream of ", to_string(tensor.device()),
                         ", got one of ", to_string(stream.device)));
  }
  note_use_on(stream, tensor);
}

void note_use(const Tensor& tensor) {
  if (!tensor.defined() || is_on_host(tensor)) return;
  DeviceBlock* const block = block_of(tensor);
  if (block != nullptr) block->note_use(current_stream(tensor.device()));
}

void note_use_on(Stream stream, const Tensor& tensor) {
  DeviceBlock* const block = block_of(tensor);
  if (block != nullptr) block->note_use(stream);
}

bool is_used_here_only(const Tensor& tensor) {
  DeviceBlock* const block = is_on_host(tensor) ? nullptr : block_of(tensor);
  if (block == nullptr) return true;
  const std::lock_guard lock(block->mutex);
  return block->others.empty() && block->stream == current_stream(tensor.device());
}

Tensor copied_to(const Tensor& tensor, Device device) {
  if (is_meta(tensor) && !is_meta(device)) throw_no_elements("copy");
  const Span from = span_of(tensor);
  const Tensor copy = twin_on(tensor, from, device);
  if (from.bytes == 0) return copy;
  const Span to = span_of(copy);
  if (is_meta(device)) return copy;
  const bool from_host = is_on_host(tensor);
  if (from_host && is_on_host(device)) {
    std::memcpy(to.start, from.start, from.bytes);
  } else if (from_host) {
    copy_in(copy, to, tensor, from.start);
  } else if (is_on_host(device)) {
    copy_out(tensor, from, to.start);
  } else if (device.type == tensor.device().type) {
    copy_across(copy, to, tensor, from);
  } else {
    const Tensor here = copied_to(tensor, Device{});
    copy_in(copy, to, here, span_of(here).start);
  }
  return copy;
}

void fill_bytes(const Tensor& target, unsigned char value) {
  if (is_meta(target)) return;
  const Span span = span_of(target);
  if (span.bytes == 0) return;
  const Device device = target.device();
  const DevicePlugin& plugin = plugin_of("fill", device);
  check_device_call(plugin.fill(device.index, span.start, value, span.bytes, stream_for(target)),
                    "fill", device);
}

void write_back(const Tensor& source, const Tensor& target) {
  if (is_meta(target)) return;
  const Span from = span_of(source);
  if (from.bytes == 0) return;
  if (!is_on_host(source) && source.device().type != target.device().type) {
    return write_back(host_copy(source), target);
  }
  const Span to = span_of(target);
  const bool from_host = is_on_host(source);
  const char* const first = static_cast<const char*>(target.impl()->data);
  for_each_stretch(target, [&](int64_t offset, size_t bytes) {
    const int64_t place = first + offset - to.start;
    if (from_host) {
      copy_in(target, {to.start + place, bytes}, source, from.start + place);
    } else {
      copy_across(target, {to.start + place, bytes}, source, {from.start + place, bytes});
    }
  });
}

}  // namespace ebb
