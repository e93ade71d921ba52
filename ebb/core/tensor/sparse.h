// ebb/core/tensor/sparse.h -- tensors that are no plain strided memory: sparse ones, and opaque
// ones.
//
// Such a tensor is an impl with the shape, dtype and device that users see, but without elements to
// read: `data` is null and its storage holds, instead of bytes, the parts that it consists of. It
// carries the gate bit kNotStrided and stands at no device that kernels are sent to (hidden() in
// device.h): recorded ops leave their straight path by the first, unrecorded ones by the second,
// and both then refuse it by throw_layout() unless they know its layout. Parts never change once a
// tensor is made of them, and have no history: that of the tensor is in its producer, as always.
#pragma once

#include <cstdint>

#include "ebb/core/tensor/layout.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// What a sparse tensor consists of. Indices are int64 and as the layout says:
///   sparse_coo     indices [sparse dims, stored], values [stored, the other sizes]
///   sparse_csr     indices [rows + 1] (where each row begins), columns [stored], values [stored]
///   selected_rows  indices [stored] (rows), values [stored, all sizes but the first]
struct SparseParts {
  Tensor indices;
  Tensor columns;  // of sparse_csr only
  Tensor values;
  bool is_coalesced = false;  // every place at most once, in rising order
};

inline bool is_strided(const Tensor& tensor) {
  return tensor.defined() && (tensor.gate_bits() & gate::kNotStrided) == 0;
}
/// Whether the tensor consists of parts: any layout but strided and opaque.
inline bool has_parts(const Tensor& tensor) {
  return tensor.defined() && tensor.layout() != Layout::strided &&
         tensor.layout() != Layout::opaque;
}

/// A tensor of a layout that has parts. Takes them as they are, without their history: whoever
/// calls has checked them (ops/impl/sparse.h). Throws ShapeError for sizes that have no count.
EBB_API Tensor make_sparse(Layout layout, IntSpan sizes, SparseParts parts);
/// The parts of a tensor that has them; throws NotImplementedError, naming `op`, for any other.
EBB_API const SparseParts& parts_of(const char* op, const Tensor& tensor);

/// A tensor in a library's own format, of which ebb knows shape, dtype and device only: every op
/// refuses it. `deleter(context)` is called when the last owner is gone, or if this throws.
EBB_API Tensor make_opaque(IntSpan sizes, DType dtype, Device device, StorageDeleter deleter,
                           void* context);

/// Whether a sparse tensor is known to store every place once, in rising order.
inline bool is_coalesced(const Tensor& tensor) {
  return has_parts(tensor) && parts_of("is_coalesced", tensor).is_coalesced;
}

/// Bytes that hold the elements: of a sparse tensor, those of its parts. 0 for an opaque one.
EBB_API size_t stored_bytes(const Tensor& tensor);

/// The same for any tensor that is not strided.
inline void require_strided(const char* op, const char* name, const Tensor& tensor) {
  const bool is_refused = tensor.defined() && (tensor.gate_bits() & gate::kNotStrided) != 0;
  if (is_refused) [[unlikely]]
    throw_layout(op, name, *tensor.impl());
}

}  // namespace ebb
