// tests/device/sim_kernels.cpp -- the simulated device's own kernels: add, mul, matmul, fill, sum.
//
// A kernel takes what it needs of its views, puts a job on the stream and returns. The job calls
// the CPU's kernel, so results are bitwise those of the CPU.
#include <array>
#include <atomic>
#include <cstring>

#include "ebb/core/device/stream.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/registry.h"
#include "tests/device/sim_device.h"
#include "tests/device/sim_memory.h"
#include "tests/device/sim_queue.h"

namespace ebb::sim {
namespace {

using kernels::Context;
using kernels::TensorView;

std::atomic<int64_t> kernel_count{0};

/// A view that outlives the call: with its own sizes and strides, and the value of a number.
class KeptView {
 public:
  explicit KeptView(const TensorView& view) : view_(view) {
    for (int dim = 0; dim < view.ndim; ++dim) {
      geometry_[static_cast<size_t>(dim)] = view.sizes[dim];
      geometry_[static_cast<size_t>(dim + kMaxDims)] = view.strides[dim];
    }
    if (view.on_host) std::memcpy(number_.data(), view.data, item_size(view.dtype));
  }
  /// For the CPU's kernels, on the stream's thread.
  TensorView view() const {
    TensorView own = view_;
    own.data = view_.on_host ? const_cast<char*>(number_.data()) : untagged(view_.data);
    own.sizes = geometry_.data();
    own.strides = geometry_.data() + kMaxDims;
    return own;
  }

 private:
  TensorView view_;
  std::array<int64_t, size_t{2} * kMaxDims> geometry_{};
  alignas(16) std::array<char, 16> number_{};
};

template <typename Job>
void run_on(const Context& context, Job job) {
  ++kernel_count;
  static_cast<Queue*>(native_stream(context.stream))->push(std::move(job));
}

template <auto& table>
void run_binary(const Context& context, const TensorView& input, const TensorView& other,
                const TensorView& out) {
  run_on(context, [input = KeptView(input), other = KeptView(other), out = KeptView(out)] {
    table.find_cpu(out.view().dtype)({}, input.view(), other.view(), out.view());
  });
}

template <auto& table>
void run_unary(const Context& context, const TensorView& input, const TensorView& out) {
  run_on(context, [input = KeptView(input), out = KeptView(out)] {
    table.find_cpu(out.view().dtype)({}, input.view(), out.view());
  });
}

void run_fill(const Context& context, const Scalar& value, const TensorView& out) {
  run_on(context, [value, out = KeptView(out)] {
    kernels::fill_kernels.find_cpu(out.view().dtype)({}, value, out.view());
  });
}

template <typename Function>
void add_kernel(const char* name, uint32_t signature, DeviceType type, Function* function) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    ops::register_kernel(name, signature, {backend_of(type), Layout::strided, dtype},
                         reinterpret_cast<void (*)()>(function));
  }
}

}  // namespace
}  // namespace ebb::sim

void ebb_device_loaded(ebb::DeviceType type) {
  namespace kernels = ebb::kernels;
  namespace signature = ebb::kernels::signature;
  using ebb::sim::add_kernel;
  add_kernel("add", signature::add, type, ebb::sim::run_binary<kernels::add_kernels>);
  add_kernel("mul", signature::mul, type, ebb::sim::run_binary<kernels::mul_kernels>);
  add_kernel("matmul", signature::matmul, type, ebb::sim::run_binary<kernels::matmul_kernels>);
  add_kernel("sum", signature::sum, type, ebb::sim::run_unary<kernels::sum_kernels>);
  add_kernel("fill", signature::fill, type, ebb::sim::run_fill);
}

int64_t ebb_sim_kernel_count() { return ebb::sim::kernel_count; }
