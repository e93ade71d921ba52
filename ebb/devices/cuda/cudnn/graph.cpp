// ebb/devices/cuda/cudnn/graph.cpp -- calls of cuDNN's interface for graphs.
#include "ebb/devices/cuda/cudnn/graph.h"

#include <utility>

#include "ebb/core/base/str.h"

namespace ebb::cuda {
namespace {

constexpr size_t kFirstWithAttention = 91100;

const GraphCalls& calls() { return *cudnn()->graph; }

}  // namespace

void check_graph(Status status, const char* call) {
  if (is_refusal(status)) throw Refused{str(call, ": ", cudnn()->text_of(status))};
  check_cudnn(status, call);
}

bool has_attention_graphs() {
  return cudnn() && cudnn()->graph && cudnn()->version() >= kFirstWithAttention;
}

Part::Part(PartType type) {
  check_graph(calls().make(static_cast<int>(type), &value_), "cudnnBackendCreateDescriptor");
}
Part::~Part() {
  if (value_ != nullptr) calls().drop(value_);
}
Part::Part(Part&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}

void Part::set(Attribute name, ElementType type, int64_t count, const void* values) {
  check_graph(calls().set(value_, static_cast<int>(name), static_cast<int>(type), count, values),
              "cudnnBackendSetAttribute");
}
void Part::set(Attribute name, std::span<const int64_t> numbers) {
  set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(numbers.size()), numbers.data());
}
void Part::set(Attribute name, const Part& other) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.value_);
}

void Part::finalize() { check_graph(calls().finalize(value_), "cudnnBackendFinalize"); }

int64_t Part::get(Attribute name, ElementType type, int64_t most, void* values) const {
  int64_t count = 0;
  check_graph(
      calls().get(value_, static_cast<int>(name), static_cast<int>(type), most, &count, values),
      "cudnnBackendGetAttribute");
  return count;
}

}  // namespace ebb::cuda
