// ebb/devices/cuda/cudnn/graph.h -- the parts of a graph of cuDNN: tensors, operations, plans.
//
// A part is made, gets its attributes, each an array of one type, and is finalized; then others may
// name it. What cuDNN refuses on the way is thrown as Refused, which is no error: ebb's own kernels
// are used. Everything else that fails is a Failure that names the call.
#pragma once

#include <span>
#include <string>

#include "ebb/devices/cuda/cudnn/library.h"

namespace ebb::cuda {

/// cudnnBackendDescriptorType_t.
enum class PartType : int {
  pointwise = 0,
  engine = 2,
  config = 3,
  heuristics = 4,
  plan = 5,
  pointwise_operation = 13,
  graph = 15,
  pack = 16,
  tensor = 17,
  product = 18,
  product_operation = 19,
  reduction = 21,
  reduction_operation = 22,
  device = 38,
};

/// cudnnBackendAttributeName_t.
enum class Attribute : int {
  pointwise_mode = 0,
  pointwise_type = 1,
  pointwise_dim = 9,
  heuristics_mode = 200,
  heuristics_graph = 201,
  heuristics_results = 202,
  heuristics_device = 204,
  config_engine = 300,
  plan_config = 401,
  plan_workspace = 402,
  plan_device = 407,
  pointwise_how = 750,
  pointwise_x = 751,
  pointwise_other = 752,
  pointwise_y = 753,
  pointwise_where = 758,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_sizes = 902,
  tensor_strides = 903,
  tensor_number = 906,
  tensor_virtual = 907,
  tensor_by_value = 908,
  pack_numbers = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  engine_notes = 1303,
  product_type = 1500,
  product_left = 1520,
  product_right = 1521,
  product_out = 1522,
  product_how = 1523,
  reduction_operator = 1600,
  reduction_type = 1601,
  reduction_x = 1610,
  reduction_y = 1611,
  reduction_how = 1612,
  device_handle = 2701,
};

/// cudnnBackendAttributeType_t.
enum class ElementType : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  pointer = 6,
  heuristics_mode = 8,
  numerical_note = 11,
  pointwise_mode = 14,
  part = 15,
  reduction_operator = 18,
};

/// What cuDNN does not do: the call, and what it says.
struct Refused {
  std::string why;
};
/// Whether cuDNN does not support what it was asked for, or takes its parameters for wrong ones.
inline bool is_refusal(Status status) { return is_unsupported(status) || status / 1000 == 2; }
/// Throws Refused or Failure, naming the call, unless it was a success.
void check_graph(Status status, const char* call);

/// Whether the library has graphs, takes the description of a device with them, and none of the
/// faults with attention that earlier ones are known for (cuDNN 9.11).
bool has_attention_graphs();

/// Owns a descriptor.
class Part {
 public:
  explicit Part(PartType type);
  ~Part();
  Part(Part&& other) noexcept;
  Part& operator=(Part&&) = delete;
  Descriptor get() const { return value_; }

  void set(Attribute name, ElementType type, int64_t count, const void* values);
  void set(Attribute name, std::span<const int64_t> numbers);
  void set(Attribute name, int64_t number) { set(name, std::span(&number, 1)); }
  void set(Attribute name, const Part& other);
  void finalize();
  /// How many elements there are; writes the first `most`.
  int64_t get(Attribute name, ElementType type, int64_t most, void* values) const;

 private:
  Descriptor value_ = nullptr;
};

}  // namespace ebb::cuda
