// ebb/core/tensor/sparse.cpp -- making tensors that are no strided memory, and refusing them.
#include "ebb/core/tensor/sparse.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ebb/core/base/error.h"

namespace ebb {
namespace {

void release_parts(void* context) noexcept { delete static_cast<SparseParts*>(context); }

/// An impl that hides behind `storage`, which it takes over a count of.
Tensor wrap(Layout layout, IntSpan sizes, int64_t numel, DType dtype, Storage* storage) {
  const int ndim = static_cast<int>(sizes.size());
  TensorImpl* const impl = TensorImpl::create(ndim, dtype, storage, nullptr);
  impl->numel = numel;
  impl->layout = layout;
  impl->flags = static_cast<uint8_t>(gate::kNotStrided);
  std::copy(sizes.begin(), sizes.end(), impl->sizes());
  contiguous_strides(sizes, impl->strides());
  return Tensor::adopt(impl);
}

Tensor without_history(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const TensorImpl& impl = *tensor.impl();
  const bool is_bare = impl.producer == nullptr && impl.meta == nullptr &&
                       (impl.flags & (TensorImpl::kView | gate::kTangent)) == 0;
  return is_bare ? tensor : detached(tensor);
}

size_t bytes_of(const SparseParts& parts) {
  const size_t columns = parts.columns.defined() ? parts.columns.nbytes() : 0;
  return parts.indices.nbytes() + columns + parts.values.nbytes();
}

int64_t count_of(const char* op, IntSpan sizes) {
  if (sizes.size() > kMaxDims) {
    throw ShapeError(str(op, ": needs at most ", kMaxDims, " dimensions, got ", sizes.size()));
  }
  return checked_numel(op, sizes, 1);
}

}  // namespace

Tensor make_sparse(Layout layout, IntSpan sizes, SparseParts parts) {
  const int64_t numel = count_of(name_of(layout), sizes);
  const DType dtype = parts.values.dtype();
  const Device device = hidden(parts.values.device());
  auto owned = std::make_unique<SparseParts>(
      SparseParts{without_history(parts.indices), without_history(parts.columns),
                  without_history(parts.values), parts.is_coalesced});
  const size_t bytes = bytes_of(*owned);
  return wrap(layout, sizes, numel, dtype,
              Storage::adopt(nullptr, bytes, release_parts, owned.release(), device));
}

const SparseParts& parts_of(const char* op, const Tensor& tensor) {
  const TensorImpl* const impl = tensor.impl();
  void* const context = impl == nullptr ? nullptr : impl->storage->foreign_context(release_parts);
  if (context != nullptr) return *static_cast<const SparseParts*>(context);
  throw NotImplementedError(str(op, ": needs a sparse tensor, got one of layout ",
                                name_of(tensor.layout()), " and shape ", PrintShape{tensor.sizes()},
                                "\nhint: to_sparse() makes one of a strided tensor"));
}

Tensor make_opaque(IntSpan sizes, DType dtype, Device device, StorageDeleter deleter,
                   void* context) {
  Storage* const storage = Storage::adopt(nullptr, 0, deleter, context, hidden(device));
  int64_t numel;
  try {
    numel = count_of("opaque", sizes);
  } catch (...) {
    storage->release();
    throw;
  }
  return wrap(Layout::opaque, sizes, numel, dtype, storage);
}

size_t stored_bytes(const Tensor& tensor) {
  if (is_strided(tensor)) return tensor.nbytes();
  return has_parts(tensor) ? bytes_of(parts_of("nbytes", tensor)) : 0;
}

}  // namespace ebb
