// tests/kernels/array.h -- a host tensor for kernel tests: any dtype, any strides, read as double.
//
// Array owns its memory and remembers its geometry; view() is what a kernel gets. Views of other
// geometry over the same memory are made with with_strides().
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ebb/core/base/shape.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/simd/convert.h"
#include "ebb/kernels/cpu/simd/register.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels::test {

using Complex = std::complex<double>;

class Array {
 public:
  /// Contiguous, zeros.
  Array(DType dtype, std::vector<int64_t> sizes) : dtype_(dtype), sizes_(std::move(sizes)) {
    strides_.resize(sizes_.size());
    contiguous_strides(sizes_, strides_.data());
    memory_ = std::make_shared<std::vector<char>>(
        static_cast<size_t>(std::max<int64_t>(1, numel())) * item_size(dtype_));
  }

  /// The same memory seen with other sizes and strides, from element `offset` on.
  Array with_strides(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                     int64_t offset = 0) const {
    Array other = *this;
    other.sizes_ = std::move(sizes);
    other.strides_ = std::move(strides);
    other.offset_ = offset_ + offset;
    return other;
  }
  Array transposed(size_t first, size_t second) const {
    Array other = *this;
    std::swap(other.sizes_[first], other.sizes_[second]);
    std::swap(other.strides_[first], other.strides_[second]);
    return other;
  }

  TensorView view() const {
    TensorView view;
    view.data = memory_->data() + static_cast<size_t>(offset_) * item_size(dtype_);
    view.sizes = sizes_.data();
    view.strides = strides_.data();
    view.numel = numel();
    view.ndim = static_cast<uint8_t>(sizes_.size());
    view.dtype = dtype_;
    view.contiguous = is_contiguous(sizes_, strides_);
    return view;
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : sizes_) count *= size;
    return count;
  }

  /// Element number `index` in row-major order.
  Complex get(int64_t index) const {
    return visit_dtype(dtype_, [&]<typename T>(TypeTag<T>) {
      return cpu::convert<Complex>(*static_cast<const T*>(place(index)));
    });
  }
  double real(int64_t index) const { return get(index).real(); }
  int64_t integer(int64_t index) const { return static_cast<const int64_t*>(place(index))[0]; }
  void set(int64_t index, Complex value) {
    visit_dtype(dtype_, [&]<typename T>(TypeTag<T>) {
      *static_cast<T*>(const_cast<void*>(place(index))) = cpu::convert<T>(value);
    });
  }
  std::vector<double> reals() const {
    std::vector<double> values;
    for (int64_t i = 0; i < numel(); ++i) values.push_back(real(i));
    return values;
  }
  /// The bytes, to compare runs bit by bit.
  std::vector<char> bytes() const { return *memory_; }

 private:
  const void* place(int64_t index) const {
    int64_t at = offset_;
    for (size_t dim = sizes_.size(); dim-- > 0;) {
      at += index % sizes_[dim] * strides_[dim];
      index /= sizes_[dim];
    }
    return memory_->data() + static_cast<size_t>(at) * item_size(dtype_);
  }

  DType dtype_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  int64_t offset_ = 0;
  std::shared_ptr<std::vector<char>> memory_;
};

/// Random numbers: small whole ones for integers, (-2, 2) for floats, both parts for complex.
inline Array random_array(DType dtype, std::vector<int64_t> sizes, unsigned seed = 1) {
  Array array(dtype, std::move(sizes));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(-2.0, 2.0);
  for (int64_t i = 0; i < array.numel(); ++i) {
    const double re = part(random), im = part(random);
    if (is_complex(dtype)) {
      array.set(i, {re, im});
    } else if (is_floating(dtype)) {
      array.set(i, re);
    } else if (is_unsigned(dtype) || dtype == DType::boolean) {
      array.set(i, std::floor((re + 2) * 8));
    } else {
      array.set(i, std::floor(re * 16));
    }
  }
  return array;
}

/// How far a result of this dtype may be from the exact one, relative to its size.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float16: return 1e-3;
    case DType::bfloat16: return 8e-3;
    case DType::float32:
    case DType::complex64: return 1e-6;
    case DType::float64:
    case DType::complex128: return 1e-14;
    default: return 0.0;
  }
}

inline bool is_near(Complex got, Complex want, double relative) {
  if (std::isnan(want.real()) || std::isnan(want.imag())) {
    return std::isnan(got.real()) || std::isnan(got.imag());
  }
  return got == want || std::abs(got - want) <= relative * std::max(1.0, std::abs(want));
}

/// A test that runs for many dtypes.
class PerDType : public testing::TestWithParam<int> {
 protected:
  DType dtype() const { return static_cast<DType>(GetParam()); }
};
inline const auto kEveryDType = testing::Range(0, kDTypeCount);
inline const auto kFloatingDTypes =
    testing::Range(static_cast<int>(DType::float16), static_cast<int>(DType::float64) + 1);
inline std::string dtype_name(const testing::TestParamInfo<int>& info) {
  return std::string(name_of(static_cast<DType>(info.param)));
}

inline const Context kContext{};

inline const bool kRegistered = [] {
  register_cpu_kernels();
  return true;
}();

}  // namespace ebb::kernels::test
