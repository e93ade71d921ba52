// ebb/core/tensor/tensor.cpp -- making tensors and views, and the questions that are not on the hot
// path.
#include "ebb/core/tensor/tensor.h"

#include <algorithm>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/layout.h"

namespace ebb {

NotOnHost::~NotOnHost() = default;

void (*detail::release_py_object)(void* py_object) noexcept = nullptr;

bool TensorImpl::detach_owners() noexcept {
  if (meta != nullptr) {
    if (!meta->lets_owner_die(refs)) return false;
    std::exchange(meta, nullptr)->owner_died();
  }
  if (py_object != nullptr && detail::release_py_object != nullptr) {
    detail::release_py_object(std::exchange(py_object, nullptr));
  }
  return true;
}

void Tensor::throw_undefined() {
  throw ValueError("tensor: needs a defined tensor, got an undefined one");
}

void Tensor::throw_wrong_type(DType asked) const {
  throw DTypeError(str("data: the element type is ", dtype(), ", got a request for ", asked));
}

void Tensor::throw_not_on_host() const {
  if (impl_->layout != Layout::strided) throw_layout("data", "tensor", *impl_);
  throw NotOnHost(str("data: needs memory of the cpu, got a tensor on ", to_string(impl_->device),
                      "\nhint: to_device(tensor, {}) copies it, in Python tensor.cpu()"));
}

int64_t Tensor::storage_offset() const {
  const auto* const start = static_cast<const char*>(checked()->storage->data());
  const auto* const first = static_cast<const char*>(impl_->data);
  return (first - start) / static_cast<int64_t>(item_size(impl_->dtype));
}

Tensor empty(IntSpan sizes, DType dtype, Device device) {
  if (sizes.size() > kMaxDims) {
    throw ShapeError(str("empty: needs at most ", kMaxDims, " dimensions, got ", sizes.size()));
  }
  const int64_t numel = checked_numel("empty", sizes, item_size(dtype));
  Storage* const storage = Storage::allocate(static_cast<size_t>(numel) * item_size(dtype), device);
  const int ndim = static_cast<int>(sizes.size());
  TensorImpl* const impl = TensorImpl::create(ndim, dtype, storage, storage->data());
  impl->numel = numel;
  impl->flags |= TensorImpl::kContiguous;
  std::copy(sizes.begin(), sizes.end(), impl->sizes());
  contiguous_strides(sizes, impl->strides());
  return Tensor::adopt(impl);
}

void TensorImpl::link_to(TensorImpl& source) {
  TensorImpl* root = &source;
  uint32_t creation = 0;
  if ((source.flag_bits() & (kView | gate::kNotStrided)) != 0) [[unlikely]] {
    if (source.layout != Layout::strided) throw_layout("view", "base", source);
    if (TensorImpl* const base = source.base(); base != nullptr) {
      root = base;
      creation = source.view().creation;
    }
  }
  const uint32_t modes = thread_state.modes & (gate::kNoGrad | gate::kInference);
  if (modes != 0 && creation == 0) [[unlikely]] {
    creation = static_cast<uint32_t>((modes & gate::kInference) != 0 ? Creation::inference
                                                                     : Creation::no_grad);
  }
  root->retain();
  new (&view()) ViewRecord{root, root->producer, storage->version(), 0, creation};
  const uint32_t unsettled = is_differentiable(dtype) ? gate::kUnsettled : 0;
  flags = static_cast<uint8_t>(flags | kView | unsettled);
}

void TensorImpl::cut_from_base() noexcept {
  if ((flags & kView) == 0) return;
  flags = static_cast<uint8_t>(flags & ~gate::kUnsettled);
  TensorImpl* const cut = std::exchange(view().base, nullptr);
  if (cut != nullptr) cut->release();
}

bool TensorImpl::inherits_history() const {
  const TensorImpl* const root = base();
  if (root == nullptr || view().creation != 0) return false;
  const bool is_result = root->producer != nullptr &&
                         (root->flags & (kLeaf | gate::kRequiresGrad)) == gate::kRequiresGrad;
  return is_result && __atomic_load_n(&view().made_from, __ATOMIC_ACQUIRE) != root->producer;
}

/// A base is no view, so this nests one deep.
void TensorImpl::destroy_view() noexcept {
  Producer* const made_by = producer;
  TensorImpl* const root = view().base;
  storage->release();
  if (dim_capacity == kFewDims) [[likely]] {  // a size that the compiler knows
    deallocate_inline(this, block_bytes(kFewDims) + sizeof(ViewRecord));
  } else {
    deallocate_inline(this, block_bytes(dim_capacity) + sizeof(ViewRecord));
  }
  if (made_by != nullptr) made_by->release();
  if (root != nullptr) root->release();
}

namespace {

/// Another look at the storage of `source`, with room for so many bytes behind the dims.
[[gnu::always_inline]] inline TensorImpl* look_at(const TensorImpl& source, DType dtype,
                                                  IntSpan sizes, IntSpan strides, int64_t offset,
                                                  size_t extra_bytes) {
  char* const data =
      static_cast<char*>(source.storage->data()) + offset * static_cast<int64_t>(item_size(dtype));
  source.storage->retain();
  TensorImpl* const impl =
      TensorImpl::create(static_cast<int>(sizes.size()), dtype, source.storage, data, extra_bytes);
  // One pass from the back: sizes, strides, their product, and whether they are in order.
  int64_t* const to_sizes = impl->sizes();
  int64_t* const to_strides = impl->strides();
  int64_t numel = 1;
  bool in_order = true;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    const int64_t size = sizes[dim];
    const int64_t stride = strides[dim];
    to_sizes[dim] = size;
    to_strides[dim] = stride;
    in_order = in_order && (size == 1 || stride == numel);
    numel *= size;
  }
  impl->numel = numel;
  if (in_order || numel == 0) impl->flags |= TensorImpl::kContiguous;
  return impl;
}

}  // namespace

Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset) {
  TensorImpl& source = *base.impl();
  Tensor view =
      Tensor::adopt(look_at(source, source.dtype, sizes, strides, offset, sizeof(ViewRecord)));
  view.impl()->link_to(source);
  return view;
}

Tensor make_view_as(const Tensor& base, DType dtype, IntSpan sizes, IntSpan strides,
                    int64_t offset) {
  TensorImpl& source = *base.impl();
  Tensor view = Tensor::adopt(look_at(source, dtype, sizes, strides, offset, sizeof(ViewRecord)));
  view.impl()->link_to(source);
  return view;
}

Tensor make_alias(const Tensor& source, IntSpan sizes, IntSpan strides, int64_t offset) {
  return Tensor::adopt(look_at(*source.impl(), source.dtype(), sizes, strides, offset, 0));
}

Tensor detached(const Tensor& tensor) {
  const TensorImpl& source = *tensor.impl();
  source.storage->retain();
  TensorImpl* const impl =
      TensorImpl::create(source.ndim, source.dtype, source.storage, source.data);
  impl->copy_geometry(source);
  return Tensor::adopt(impl);
}

namespace {

/// Number of elements; lets go of `storage` if the sizes are refused.
int64_t checked_blob_numel(IntSpan sizes, DType dtype, Storage* storage) {
  try {
    if (sizes.size() > kMaxDims) {
      throw ShapeError(
          str("from_blob: needs at most ", kMaxDims, " dimensions, got ", sizes.size()));
    }
    return checked_numel("from_blob", sizes, item_size(dtype));
  } catch (...) {
    storage->release();
    throw;
  }
}

}  // namespace

Tensor from_blob(void* data, IntSpan sizes, IntSpan strides, DType dtype, size_t bytes,
                 StorageDeleter deleter, void* context) {
  Storage* const storage = Storage::adopt(data, bytes, deleter, context);
  const int64_t numel = checked_blob_numel(sizes, dtype, storage);
  TensorImpl* const impl = TensorImpl::create(static_cast<int>(sizes.size()), dtype, storage, data);
  impl->numel = numel;
  std::copy(sizes.begin(), sizes.end(), impl->sizes());
  std::copy(strides.begin(), strides.end(), impl->strides());
  if (is_contiguous(sizes, strides)) impl->flags |= TensorImpl::kContiguous;
  return Tensor::adopt(impl);
}

ByteRange byte_range(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.numel == 0) return {};
  int64_t lowest = 0;
  int64_t highest = 0;
  for (int dim = 0; dim < impl.ndim; ++dim) {
    const int64_t reach = (impl.sizes()[dim] - 1) * impl.strides()[dim];
    (reach < 0 ? lowest : highest) += reach;
  }
  const auto item = static_cast<int64_t>(item_size(impl.dtype));
  const int64_t start =
      static_cast<const char*>(impl.data) - static_cast<const char*>(impl.storage->data());
  return {.first = static_cast<size_t>(start + lowest * item),
          .last = static_cast<size_t>(start + highest * item + item - 1),
          .empty = false};
}

ByteRegion region_of(const TensorImpl& impl) {
  const int64_t start =
      static_cast<const char*>(impl.data) - static_cast<const char*>(impl.storage->data());
  const auto item = static_cast<int64_t>(item_size(impl.dtype));
  if (impl.is_contiguous()) return ByteRegion::dense(start, impl.numel * item);
  return ByteRegion::strided(start, item, impl.shape(), {impl.strides(), impl.ndim});
}

bool has_internal_overlap(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  for (int dim = 0; dim < impl.ndim; ++dim) {
    if (impl.sizes()[dim] > 1 && impl.strides()[dim] == 0) return impl.numel > 0;
  }
  return false;
}

}  // namespace ebb
