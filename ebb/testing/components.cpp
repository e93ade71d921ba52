// ebb/testing/components.cpp -- see components.h.
#include "ebb/testing/components.h"

#include <algorithm>
#include <cmath>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/dot.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/to_dense.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/random.h"
#include "ebb/core/tensor/sparse.h"

namespace ebb::testing {
namespace {

size_t parts_of(const Tensor& tensor) { return is_complex(tensor.dtype()) ? 2 : 1; }
DType wide(DType dtype) { return is_complex(dtype) ? DType::complex128 : DType::float64; }

/// The indices of an element, counted in row-major order.
Shape indices_of(const Tensor& tensor, size_t element) {
  Shape indices = tensor.shape();
  auto rest = static_cast<int64_t>(element);
  for (int dim = indices.ndim() - 1; dim >= 0; --dim) {
    const int64_t size = tensor.size(dim);
    indices[dim] = rest % size;
    rest /= size;
  }
  return indices;
}

}  // namespace

size_t component_count(const Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * parts_of(tensor);
}

std::vector<double*> component_addresses(const Tensor& tensor) {
  const auto parts = static_cast<int64_t>(parts_of(tensor));
  std::vector<double*> addresses(component_count(tensor));
  auto* const first = static_cast<double*>(tensor.host_data());
  for (size_t component = 0; component < addresses.size(); ++component) {
    const auto position = static_cast<int64_t>(component);
    const Shape indices = indices_of(tensor, static_cast<size_t>(position / parts));
    int64_t offset = 0;
    for (int dim = 0; dim < indices.ndim(); ++dim) {
      offset += indices[dim] * tensor.strides()[static_cast<size_t>(dim)];
    }
    addresses[component] = first + offset * parts + position % parts;
  }
  return addresses;
}

Components components_of(const Tensor& tensor) {
  const NoGradGuard guard;
  const Tensor dense = is_strided(tensor) ? tensor : to_dense(tensor);
  const Tensor flat = contiguous(cast(detach(dense), wide(tensor.dtype())));
  const auto* const first = static_cast<const double*>(flat.host_data());
  return {first, first + component_count(flat)};
}

Tensor from_components(const Tensor& like, const Components& components) {
  const NoGradGuard guard;
  const Tensor tensor = empty(like.sizes(), wide(like.dtype()));
  std::copy(components.begin(), components.end(), static_cast<double*>(tensor.host_data()));
  return cast(tensor, like.dtype());
}

std::string place_of(const Tensor& tensor, size_t component) {
  const size_t parts = parts_of(tensor);
  const std::string index = str(indices_of(tensor, component / parts));
  if (parts == 1) return index;
  return index + (component % 2 == 0 ? " (real part)" : " (imaginary part)");
}

Components random_direction(size_t count, uint64_t seed) {
  Components direction(count);
  for (size_t index = 0; index < count; ++index) {
    const auto words = random_words({seed, 0}, index);
    direction[index] = words[0] * 0x1p-31 - 1;
  }
  const double norm = std::sqrt(dot(direction, direction));
  for (double& value : direction) value /= norm;
  return direction;
}

Components unit(size_t count, size_t position) {
  Components direction(count, 0.0);
  direction[position] = 1;
  return direction;
}

double dot(const Components& lhs, const Components& rhs) {
  double sum = 0;
  for (size_t index = 0; index < lhs.size(); ++index) sum += lhs[index] * rhs[index];
  return sum;
}

int64_t farthest_apart(const Components& first, const Components& second, double rtol,
                       double atol) {
  int64_t worst = -1;
  double most = 0;
  for (size_t index = 0; index < first.size(); ++index) {
    const double off = std::abs(first[index] - second[index]);
    // Written so that NaN is apart.
    if (off <= atol + rtol * std::abs(second[index])) continue;
    if (worst >= 0 && !(off > most)) continue;
    worst = static_cast<int64_t>(index);
    most = off;
  }
  return worst;
}

}  // namespace ebb::testing
