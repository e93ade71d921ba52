// ebb/devices/launch/geometry.cpp -- dropping, ordering and joining dims.
#include "ebb/devices/launch/geometry.h"

#include <algorithm>
#include <cstdlib>

namespace ebb::devices {

LoopNest::LoopNest(IntSpan shape, std::span<const kernels::TensorView* const> operands,
                   bool may_reorder)
    : operands_(static_cast<int>(operands.size())) {
  const int ndim = static_cast<int>(shape.size());
  for (int dim = 0; dim < ndim; ++dim) {
    const int64_t size = shape[index(dim)];
    numel_ *= size;
    if (size == 1) continue;
    std::array<int64_t, kMaxOperands> steps{};
    for (size_t one = 0; one < operands.size(); ++one) {
      const kernels::TensorView& view = *operands[one];
      const int own = dim - (ndim - view.ndim);
      steps[one] = own < 0 || view.sizes[own] == 1 ? 0 : view.strides[own];
    }
    add_dim(size, steps);
  }
  if (may_reorder) reorder();
  join();
}

void LoopNest::add_dim(int64_t size, const std::array<int64_t, kMaxOperands>& steps) {
  sizes_[rank_] = size;
  for (int one = 0; one < operands_; ++one) strides_[one][rank_] = steps[index(one)];
  ++rank_;
}

/// Insertion sort by the first operand's stride, largest first; equal ones stay as they are.
void LoopNest::reorder() {
  for (int dim = 1; dim < rank_; ++dim) {
    for (int here = dim; here > 0; --here) {
      if (std::abs(strides_[0][here]) <= std::abs(strides_[0][here - 1])) break;
      std::swap(sizes_[here], sizes_[here - 1]);
      for (int one = 0; one < operands_; ++one) {
        std::swap(strides_[one][here], strides_[one][here - 1]);
      }
    }
  }
}

bool LoopNest::joins(int outer, int inner) const {
  for (int one = 0; one < operands_; ++one) {
    if (strides_[one][outer] != strides_[one][inner] * sizes_[inner]) return false;
  }
  return true;
}

void LoopNest::join() {
  int last = 0;
  for (int dim = 1; dim < rank_; ++dim) {
    if (joins(last, dim)) {
      sizes_[last] *= sizes_[dim];
    } else {
      ++last;
      sizes_[last] = sizes_[dim];
    }
    for (int one = 0; one < operands_; ++one) strides_[one][last] = strides_[one][dim];
  }
  if (rank_ > 0) rank_ = last + 1;
}

bool LoopNest::is_dense() const {
  if (rank_ == 0) return true;
  if (rank_ > 1) return false;
  for (int one = 0; one < operands_; ++one) {
    if (strides_[one][0] != 1) return false;
  }
  return true;
}

bool LoopNest::fits_int32() const {
  if (numel_ > kMostPlaces) return false;
  for (int one = 0; one < operands_; ++one) {
    int64_t reach = 0;
    for (int dim = 0; dim < rank_; ++dim) {
      reach += (sizes_[dim] - 1) * std::abs(strides_[one][dim]);
    }
    if (reach > kMostPlaces) return false;
  }
  return true;
}

namespace {

template <typename Integer>
char* put(char* to, const int64_t* values, int count) {
  for (int i = 0; i < count; ++i, to += sizeof(Integer)) {
    const auto value = static_cast<Integer>(values[i]);
    std::memcpy(to, &value, sizeof(Integer));
  }
  return to;
}

}  // namespace

size_t LoopNest::pack(bool as_int32, std::span<char> bytes) const {
  const auto write = as_int32 ? put<int32_t> : put<int64_t>;
  char* end = write(bytes.data(), sizes_, rank_);
  for (int one = 0; one < operands_; ++one) end = write(end, strides_[one], rank_);
  return static_cast<size_t>(end - bytes.data());
}

size_t pack_integers(std::span<const int64_t> values, bool as_int32, std::span<char> bytes) {
  const auto write = as_int32 ? put<int32_t> : put<int64_t>;
  char* const end = write(bytes.data(), values.data(), static_cast<int>(values.size()));
  return static_cast<size_t>(end - bytes.data());
}

}  // namespace ebb::devices
