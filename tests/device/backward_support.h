// tests/device/backward_support.h -- what tests of backward on devices share.
#pragma once

#include <thread>
#include <vector>

#include "ebb/autograd/engine/parallel_backward.h"
#include "tests/autograd/graph_support.h"
#include "tests/device/device_test_support.h"

namespace ebb {

/// Where one node of a run ran.
struct Seen {
  std::thread::id thread;
  Stream stream;
  bool records = false;
};

/// A copy of `input` whose node notes where it runs.
inline Tensor watched(const Tensor& input, Seen& seen) {
  return with_rule(input, [&seen, device = input.device()](const Tensor& grad) {
    seen = {std::this_thread::get_id(), current_stream(device), is_grad_enabled()};
    return grad;
  });
}

/// Says whether other threads may run nodes, for the length of a scope.
class ParallelScope {
 public:
  explicit ParallelScope(bool is_parallel) : was_(is_parallel_backward()) {
    set_parallel_backward(is_parallel);
  }
  ~ParallelScope() { set_parallel_backward(was_); }
  ParallelScope(const ParallelScope&) = delete;
  ParallelScope& operator=(const ParallelScope&) = delete;

 private:
  bool was_;
};

class OnDevices : public OnSim {
 protected:
  static Tensor leaf_on(Device device, std::initializer_list<float> values) {
    return requires_grad_(to_device(vector_of<float>(values), device));
  }
};

}  // namespace ebb
