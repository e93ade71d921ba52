// tests/devices/cuda/cudnn_parts.h -- what the stand-ins of cuDNN's functions share: handles,
// and the parts of graphs. See stand_in.h.
#pragma once

#define CUDNN_WARN_DEPRECATED_OFF
#include <cudnn.h>

#include <cstring>
#include <memory>

#include "tests/devices/cuda/numbers.h"
#include "tests/devices/cuda/stand_in.h"

// Opens each function: holds the lock, counts the call, fails it if a test says so.
#define STAND_IN_CALL(name)                                     \
  const std::lock_guard stand_in_lock(stand_in::state().mutex); \
  if (const CUresult injected = stand_in::enter(name)) {        \
    return static_cast<cudnnStatus_t>(injected);                \
  }

namespace stand_in {

struct CudnnHandle {
  int device = 0;
  CUstream stream = nullptr;
};

inline bool is_known(const char* call, const void* object) {
  if (state().library_objects.count(object) != 0) return true;
  violate(std::string(call) + ": no such object");
  return false;
}

inline Kind kind_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE  ? Kind::f64
         : type == CUDNN_DATA_FLOAT ? Kind::f32
         : type == CUDNN_DATA_HALF  ? Kind::f16
                                    : Kind::bf16;
}

struct Part;
/// The value of an attribute: bytes, or other parts.
struct Values {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count = 0;
  std::vector<char> bytes;
  std::vector<std::shared_ptr<Part>> parts;

  template <typename Number>
  Number at(size_t index) const {
    Number value;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
  }
};

/// A part of a graph, with its attributes in the order in which they were set.
struct Part {
  cudnnBackendDescriptorType_t type;
  bool is_final = false;
  std::vector<Values> values;

  const Values* find(cudnnBackendAttributeName_t name) const {
    for (const Values& one : values) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
  const Part* part(cudnnBackendAttributeName_t name) const {
    const Values* const found = find(name);
    return found != nullptr && found->parts.size() == 1 ? found->parts[0].get() : nullptr;
  }
};

/// What the true cuDNN, where STAND_IN_CUDNN names it, has against an engine for the graph on sm_80
/// and sm_90 is a violation. Where STAND_IN_CUDNN_COMPILES is 1 it compiles its kernels, too.
void ask_true_cudnn(const Part& heuristics);

/// Queues the operations of a graph, on what the pack holds.
cudnnStatus_t queue_graph(const CudnnHandle& handle, const std::shared_ptr<Part>& graph,
                          const Part& pack);

}  // namespace stand_in
