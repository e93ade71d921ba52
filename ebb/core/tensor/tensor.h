// ebb/core/tensor/tensor.h -- Tensor: a counted pointer to a TensorImpl, and how tensors are made.
//
// Copying a Tensor shares the impl. A default Tensor is undefined: it holds nothing and every op
// refuses it. Operations are free functions, generated from the op table (ebb/autograd/ops.h); some
// are methods too, which programs get by including ebb/ebb.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <utility>

#include "ebb/core/base/error.h"
#include "ebb/core/base/scalar.h"
#include "ebb/core/tensor/byte_region.h"
#include "ebb/core/tensor/tensor_impl.h"
#include "ebb/core/tensor/tensor_methods.h"

namespace ebb {

/// The CPU was to read memory of another device.
class EBB_API NotOnHost : public ValueError {
 public:
  using ValueError::ValueError;
  ~NotOnHost() override;
};

/// A multi-dimensional array, or nothing at all.
class EBB_API Tensor : public TensorMethods {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) : impl_(other.impl_) {
    if (impl_ != nullptr) impl_->retain();
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(const Tensor& other) {
    Tensor copy(other);
    std::swap(impl_, copy.impl_);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor moved(std::move(other));  // first, so that a tensor moved to itself stays as it is
    std::swap(impl_, moved.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_ != nullptr) impl_->release();
  }

  /// Takes over one count of `impl`.
  static Tensor adopt(TensorImpl* impl) { return Tensor(impl); }
  /// Shares `impl`.
  static Tensor share(TensorImpl* impl) {
    if (impl != nullptr) impl->retain();
    return Tensor(impl);
  }
  /// Gives up the count that this handle holds and becomes undefined.
  TensorImpl* leak() { return std::exchange(impl_, nullptr); }

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const = delete;
  TensorImpl* impl() const { return impl_; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  // What follows throws ValueError for an undefined tensor.
  DType dtype() const { return checked()->dtype; }
  Device device() const { return revealed(checked()->device); }
  Layout layout() const { return checked()->layout; }
  int ndim() const { return checked()->ndim; }
  int64_t numel() const { return checked()->numel; }
  /// Bytes of all elements: numel times the size of one.
  size_t nbytes() const { return static_cast<size_t>(numel()) * item_size(dtype()); }
  IntSpan sizes() const { return checked()->shape(); }
  IntSpan strides() const { return {checked()->strides(), impl_->ndim}; }
  Shape shape() const { return Shape(sizes()); }
  /// Size of one dim, counted from the back if negative. Throws IndexError.
  /// Throws IndexError if there is no such dim; a 0-d tensor has none.
  int64_t size(int64_t dim) const { return at_dim("size", sizes(), dim); }
  bool is_contiguous() const { return checked()->is_contiguous(); }
  /// Elements between the start of the storage and the first element.
  int64_t storage_offset() const;
  uint32_t version() const { return checked()->storage->version(); }
  bool requires_grad() const {
    if (impl_ == nullptr) return false;
    const uint32_t bits = gate_bits() & (gate::kRequiresGrad | gate::kUnsettled);
    return (bits & gate::kRequiresGrad) != 0 || (bits != 0 && impl_->inherits_history());
  }
  /// Gate bits of this operand; kUndefined for no tensor.
  uint32_t gate_bits() const { return impl_ != nullptr ? impl_->flag_bits() : gate::kUndefined; }

  /// Pointer to the first element, for the CPU to read. Throws DTypeError unless T is the element
  /// type, NotOnHost (a ValueError) for memory of another device.
  template <typename T>
  T* data() const {
    if (dtype() != dtype_of<T>) throw_wrong_type(dtype_of<T>);
    return static_cast<T*>(host_data());
  }
  /// The same without a look at the element type.
  void* host_data() const {
    if (!is_on_host(checked()->device)) throw_not_on_host();
    return impl_->data;
  }
  /// Address of the first element on its device: the CPU may read what is there only if host_data()
  /// says so.
  void* data_ptr() const { return checked()->data; }

  /// The only element, converted to T; waits for a device to give it. Throws ValueError if there is
  /// not exactly one.
  template <typename T>
  T item() const {
    const Scalar value = item_scalar();
    if constexpr (std::is_same_v<T, bool>) return value.to_complex() != std::complex<double>(0.0);
    if constexpr (std::is_integral_v<T>) return static_cast<T>(value.to_int());
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(value.to_double());
    if constexpr (std::is_same_v<T, std::complex<double>>) return value.to_complex();
  }
  Scalar item_scalar() const;

 private:
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}
  TensorImpl* checked() const {
    if (impl_ == nullptr) throw_undefined();
    return impl_;
  }
  [[noreturn]] static void throw_undefined();
  [[noreturn]] void throw_wrong_type(DType asked) const;
  [[noreturn]] void throw_not_on_host() const;

  TensorImpl* impl_ = nullptr;
};

/// Whether kernels of the CPU can read the elements: not those of a sparse tensor.
inline bool is_on_host(const Tensor& tensor) { return is_on_host(tensor.impl()->device); }

/// Uninitialised, contiguous. Throws ShapeError (sizes) or OutOfMemoryError.
EBB_API Tensor empty(IntSpan sizes, DType dtype, Device device = {});

namespace detail {
/// A contiguous tensor with the sizes of `like` over fresh memory of the same device.
[[gnu::always_inline]] inline Tensor wrap_like(const Tensor& like, DType dtype, Storage* storage) {
  const TensorImpl& source = *like.impl();
  TensorImpl* const impl = TensorImpl::create_like(source, dtype, storage);
  if (!source.is_contiguous()) contiguous_strides(source.shape(), impl->strides());
  return Tensor::adopt(impl);
}
}  // namespace detail

/// Uninitialised, contiguous, with the sizes of `like`: no checks are needed, they were made.
[[gnu::always_inline]] inline Tensor empty_like(const Tensor& like, DType dtype) {
  const size_t bytes = static_cast<size_t>(like.impl()->numel) * item_size(dtype);
  return detail::wrap_like(like, dtype, Storage::allocate(bytes, like.impl()->device));
}
/// The same for a tensor of the CPU, without asking for its device.
[[gnu::always_inline]] inline Tensor empty_like_on_cpu(const Tensor& like, DType dtype) {
  const size_t bytes = static_cast<size_t>(like.impl()->numel) * item_size(dtype);
  return detail::wrap_like(like, dtype, Storage::allocate(bytes));
}

/// Another look at the memory of `base`; `offset` counts elements from the storage's start.
/// The caller has checked that the view lies within the storage. The view keeps `base` (if that is
/// a view, its base) alive: what is written through one of them changes the history of all.
EBB_API Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset);
/// The same as elements of another dtype, which strides and offset then count.
EBB_API Tensor make_view_as(const Tensor& base, DType dtype, IntSpan sizes, IntSpan strides,
                            int64_t offset);

/// The same, but a tensor of its own that happens to share memory: for memory nobody else looks at.
EBB_API Tensor make_alias(const Tensor& source, IntSpan sizes, IntSpan strides, int64_t offset);

/// The same values, memory and version without history: a new impl that requires no gradient and is
/// no view.
EBB_API Tensor detached(const Tensor& tensor);

/// A tensor over foreign memory, kept until the last view is gone. Strides count elements; they
/// must stay within [data, data + bytes) and `data` must be aligned to the element. The deleter is
/// called also if this throws ShapeError (sizes) or OutOfMemoryError.
EBB_API Tensor from_blob(void* data, IntSpan sizes, IntSpan strides, DType dtype, size_t bytes,
                         StorageDeleter deleter, void* context);

/// Every byte of the storage that elements of `tensor` can touch: first and last.
struct ByteRange {
  size_t first = 0;
  size_t last = 0;
  bool empty = true;
};
EBB_API ByteRange byte_range(const Tensor& tensor);

/// The bytes of the storage that elements of `impl` touch.
EBB_API ByteRegion region_of(const TensorImpl& impl);

/// Whether two elements of the tensor may be one in memory (a stride of 0 over more than one).
EBB_API bool has_internal_overlap(const Tensor& tensor);

}  // namespace ebb
