// python/src/tensor/index_key.h -- what stands in brackets, x[...], taken apart: Box for ints,
// slices, None and Ellipsis, AdvancedKey for tensors, arrays, lists and bools among them.
//
// A box (start, step and count for each dim) and the shape of the result are all that the op
// index_box needs: one view, one node. Whatever of a key runs the user's code (__index__, lists)
// runs before sizes are looked at.
#pragma once

#include <vector>

#include "ebb/core/tensor/tensor.h"
#include "python/src/base/py.h"

namespace ebb::python {

/// Basic indexing. Arrays hold `dims` values, `shape` the result's `result_dims`.
struct Box {
  int64_t start[kMaxDims];
  int64_t step[kMaxDims];
  int64_t size[kMaxDims];
  int64_t shape[2 * kMaxDims];
  size_t dims = 0;
  size_t result_dims = 0;

  IntSpan starts() const { return {start, dims}; }
  IntSpan steps() const { return {step, dims}; }
  IntSpan sizes() const { return {size, dims}; }
  IntSpan result_shape() const { return {shape, result_dims}; }
};

namespace detail {
bool has_advanced_item(PyObject* key);
}
/// Whether a key is, or has among its items, a tensor, array, list, nested tuple, range or
/// bool.
inline bool is_advanced_key(PyObject* key) {
  return !PyLong_CheckExact(key) && detail::has_advanced_item(key);
}

/// Fills `box` from a key that is not advanced. Throws IndexError, ValueError or DTypeError.
void take_key(Box& box, const TensorImpl& impl, PyObject* key);

/// Indexing by tensors: first a box, then `indices` of the dims of what the box gives, as
/// ebb::index() takes them. An int beside tensors belongs to the box, as in PyTorch; NumPy makes
/// it a tensor, which moves dims to the front where a slice lies between the two.
struct AdvancedKey {
  Box box;
  bool is_whole = true;  // the box is all of the tensor, as it is
  std::vector<Tensor> indices;

  AdvancedKey(const Tensor& tensor, PyObject* key);
  /// Whether there is none after all: arrays of one int select as an int does.
  bool is_basic() const;
};

}  // namespace ebb::python
