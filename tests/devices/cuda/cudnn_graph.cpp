// tests/devices/cuda/cudnn_graph.cpp -- cuDNN's functions for graphs, by its own header.
// See stand_in.h.
//
// A part takes attributes until it is finalized, and may be named by others from then on; it has to
// live until what names it is finalized. Heuristics
// announce one more engine than suits, and name one whose results depend on timing first.
#include <algorithm>

#include "tests/devices/cuda/cudnn_parts.h"

using namespace stand_in;  // NOLINT: functions of C cannot be in a namespace

namespace {

/// As much as plans ask for.
constexpr int64_t kWorkspace = 3000;
constexpr int64_t kAnnounced = 3;

std::map<const void*, std::shared_ptr<Part>>& parts() {
  static auto* const all = new std::map<const void*, std::shared_ptr<Part>>();
  return *all;
}
/// The part; null, and a violation, if there is none.
std::shared_ptr<Part> part_at(const char* call, const void* descriptor) {
  const auto found = parts().find(descriptor);
  if (found != parts().end()) return found->second;
  violate(std::string(call) + ": no such part");
  return nullptr;
}

size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_DATA_TYPE: return sizeof(cudnnDataType_t);
    case CUDNN_TYPE_HEUR_MODE: return sizeof(cudnnBackendHeurMode_t);
    case CUDNN_TYPE_INT64: return sizeof(int64_t);
    case CUDNN_TYPE_POINTWISE_MODE: return sizeof(cudnnPointwiseMode_t);
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE: return sizeof(cudnnReduceTensorOp_t);
    default: return sizeof(void*);
  }
}

/// An attribute that a part must have: -1 for any count.
struct Needed {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count;
};
std::vector<Needed> needed_by_operation(cudnnBackendDescriptorType_t type) {
  const auto part = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  switch (type) {
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1},
              {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1}};
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part, 1},
              {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, part, 1},
              {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, part, 1}};
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
      return {{CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1}};
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, part, 1},
              {CUDNN_ATTR_OPERATION_MATMUL_BDESC, part, 1},
              {CUDNN_ATTR_OPERATION_MATMUL_CDESC, part, 1},
              {CUDNN_ATTR_OPERATION_MATMUL_DESC, part, 1}};
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return {{CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1},
              {CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1}};
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, part, 1},
              {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, part, 1},
              {CUDNN_ATTR_OPERATION_REDUCTION_DESC, part, 1}};
    default: return {};
  }
}
std::vector<Needed> needed_by(cudnnBackendDescriptorType_t type) {
  const auto part = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
              {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4},
              {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4},
              {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1},
              {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1}};
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATIONGRAPH_OPS, part, -1}};
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      return {{CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1}};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, part, 1},
              {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1},
              {CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, part, 1}};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return {{CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, part, 1},
              {CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, part, 1}};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, -1},
              {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, -1},
              {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1}};
    default: return needed_by_operation(type);
  }
}

bool has_all(const Part& part) {
  const auto has = [&](const Needed& needed) {
    const Values* const found = part.find(needed.name);
    return found != nullptr && found->type == needed.type &&
           (needed.count < 0 || found->count == needed.count);
  };
  const std::vector<Needed> needed = needed_by(part.type);
  return !needed.empty() && std::all_of(needed.begin(), needed.end(), has);
}

/// Whether the parts that it names were not dropped.
bool names_live_parts(const Part& part) {
  for (const Values& values : part.values) {
    for (const std::shared_ptr<Part>& named : values.parts) {
      const auto is_it = [&](const auto& one) { return one.second == named; };
      if (std::none_of(parts().begin(), parts().end(), is_it)) return false;
    }
  }
  return true;
}

/// A config of engine `number`, of which 0 depends on timing.
void fill_config(Part& config, const Part& heuristics, char number) {
  config.values = heuristics.values;
  config.values.push_back({CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_CHAR, 1, {number}, {}});
  config.is_final = true;
}
bool depends_on_timing(const Part& config) {
  return config.find(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)->bytes[0] == 0;
}

int64_t write_configs(const Part& heuristics, int64_t most, void* values) {
  if (values == nullptr) return kAnnounced;
  const int64_t count = std::min(most, kAnnounced - 1);
  for (int64_t number = 0; number < count; ++number) {
    const auto place = static_cast<cudnnBackendDescriptor_t*>(values)[number];
    const std::shared_ptr<Part> config = part_at("cudnnBackendGetAttribute", place);
    if (config == nullptr) return 0;
    if (config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) violate("results: not a config");
    fill_config(*config, heuristics, static_cast<char>(number));
  }
  return count;
}

cudnnStatus_t execute(const CudnnHandle& handle, const Part& plan, const Part& pack) {
  const Part* const config = plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (depends_on_timing(*config)) violate("cudnnBackendExecute: depends on timing");
  const auto& graph = config->find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->parts[0];
  auto* const workspace = static_cast<char*>(
      const_cast<void*>(pack.find(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->at<const void*>(0)));
  need_range("cudnnBackendExecute", reinterpret_cast<CUdeviceptr>(workspace), kWorkspace,
             handle.device);
  const auto work = [=] { std::memset(workspace, 0x7f, kWorkspace); };  // whoever else uses it sees
  if (queue("cudnnBackendExecute", handle.stream, work) != CUDA_SUCCESS) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  return queue_graph(handle, graph, pack);
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* made) {
  STAND_IN_CALL("cudnnBackendCreateDescriptor");
  auto part = std::make_shared<Part>();
  part->type = type;
  *made = part.get();
  state().library_objects.insert(*made);
  parts()[*made] = std::move(part);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  STAND_IN_CALL("cudnnBackendDestroyDescriptor");
  if (part_at("cudnnBackendDestroyDescriptor", descriptor) == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  state().library_objects.erase(descriptor);
  parts().erase(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  STAND_IN_CALL("cudnnBackendSetAttribute");
  const auto part = part_at("cudnnBackendSetAttribute", descriptor);
  if (part == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (part->is_final) violate("cudnnBackendSetAttribute: is final");
  if (part->find(name) != nullptr) violate("cudnnBackendSetAttribute: set twice");
  Values values{name, type, count, {}, {}};
  const auto* const bytes = static_cast<const char*>(elements);
  values.bytes.assign(bytes, bytes + static_cast<size_t>(count) * bytes_of(type));
  for (int64_t index = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && index < count; ++index) {
    auto named = part_at("cudnnBackendSetAttribute",
                         static_cast<const cudnnBackendDescriptor_t*>(elements)[index]);
    if (named == nullptr || !named->is_final) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    values.parts.push_back(std::move(named));
  }
  part->values.push_back(std::move(values));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  STAND_IN_CALL("cudnnBackendFinalize");
  const auto part = part_at("cudnnBackendFinalize", descriptor);
  if (part == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (part->is_final) violate("cudnnBackendFinalize: is final");
  if (!has_all(*part)) {
    violate("cudnnBackendFinalize: attributes of a part of type " + std::to_string(part->type));
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (!names_live_parts(*part)) violate("cudnnBackendFinalize: names a dropped part");
  if (part->type == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
    is_known("cudnnBackendFinalize", part->find(CUDNN_ATTR_DEVICEPROP_HANDLE)->at<const void*>(0));
  }
  part->is_final = true;
  if (part->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) ask_true_cudnn(*part);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most,
                                       int64_t* count, void* elements) {
  STAND_IN_CALL("cudnnBackendGetAttribute");
  const auto part = part_at("cudnnBackendGetAttribute", descriptor);
  if (part == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const bool is_of_part = type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
  *count = 1;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && is_of_part && part->is_final) {
    *count = write_configs(*part, most, elements);
  } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE && is_of_part && part->is_final) {
    const auto engine = part_at("cudnnBackendGetAttribute",
                                *static_cast<const cudnnBackendDescriptor_t*>(elements));
    if (engine == nullptr || engine->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
      violate("cudnnBackendGetAttribute: not an engine");
    } else {
      *engine = *part;
    }
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
    auto* const notes = static_cast<cudnnBackendNumericalNote_t*>(elements);
    notes[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    notes[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    *count = depends_on_timing(*part) ? 2 : 1;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
    *static_cast<int64_t*>(elements) = kWorkspace;
  } else {
    violate("cudnnBackendGetAttribute: attribute " + std::to_string(name));
    return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_at,
                                  cudnnBackendDescriptor_t pack_at) {
  STAND_IN_CALL("cudnnBackendExecute");
  const auto plan = part_at("cudnnBackendExecute", plan_at);
  const auto pack = part_at("cudnnBackendExecute", pack_at);
  const bool is_good = is_known("cudnnBackendExecute", handle) && plan != nullptr &&
                       pack != nullptr && plan->is_final && pack->is_final;
  if (!is_good) return CUDNN_STATUS_BAD_PARAM;
  return execute(*reinterpret_cast<const CudnnHandle*>(handle), *plan, *pack);
}

}  // extern "C"
