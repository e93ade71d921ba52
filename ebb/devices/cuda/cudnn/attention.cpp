// ebb/devices/cuda/cudnn/attention.cpp -- plans for graphs of attention, and their use.
//
// A plan is made when sizes, strides and dtype are first seen on a device, from the first engine
// that cuDNN's heuristics name and whose results do not depend on timing; what cuDNN refuses is
// remembered as well. The scale is no part of it. Plans stay as long as the process: work that uses
// one may still run. The gradients are ebb's own kernels: with a fixed order of sums, cuDNN's would
// keep all scores. Start reading at queue_by_cudnn().
#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "ebb/core/base/log.h"
#include "ebb/core/base/str.h"
#include "ebb/devices/cuda/cudnn/attention_graph.h"
#include "ebb/devices/cuda/cudnn/cudnn.h"
#include "ebb/devices/launch/memory_pool.h"

namespace ebb::cuda {
namespace {

using devices::Attention;
using devices::AttentionSide;

constexpr int kBestGuess = 3;        // CUDNN_HEUR_MODE_A
constexpr int kDependsOnTiming = 4;  // CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC

/// Whether each row begins at a multiple of kAlignment, and places of elements are 31 bits wide.
bool is_in_order(const AttentionSide& side, int64_t item) {
  if (side.strides[3] != 1 || reinterpret_cast<uintptr_t>(side.data) % kAlignment != 0)
    return false;
  const Four strides = tidy_strides(side);
  int64_t reach = side.sizes[3];
  for (size_t dim = 0; dim < 3; ++dim) {
    if (strides[dim] <= 0 || strides[dim] * item % kAlignment != 0) return false;
    reach += (side.sizes[dim] - 1) * strides[dim];
  }
  return reach < int64_t{1} << 31;
}

/// What cuDNN's support matrix lists: more than 128 features for several rows on sm_8x and sm_9x.
bool takes(const CudaDevice& device, const Attention& attention) {
  if (device.major < 8 || !has_attention_graphs()) return false;
  if (attention.dtype != DType::float16 && attention.dtype != DType::bfloat16) return false;
  const bool is_wide = device.major <= 9 && attention.query.sizes[2] > 1;
  for (const AttentionSide* side : {&attention.query, &attention.value}) {
    const int64_t features = side->sizes[3];
    if (features % 8 != 0 || features > (is_wide ? 256 : 128)) return false;
  }
  const auto item = static_cast<int64_t>(item_size(attention.dtype));
  return is_in_order(attention.query, item) && is_in_order(attention.key, item) &&
         is_in_order(attention.value, item) && is_in_order(attention.out, item);
}

/// All that the heuristics name, best first.
std::vector<Part> configs_of(const AttentionGraph& graph, const Part& device) {
  Part heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &kBestGuess);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  heuristics.finalize();
  const auto results = [&](int64_t most, void* values) {
    return heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most,
                          values);
  };
  std::vector<Part> configs;
  std::vector<Descriptor> places;
  for (int64_t left = results(0, nullptr); left > 0; --left) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    places.push_back(configs.back().get());
  }
  // Fewer than were announced if some do not suit the device.
  const auto most = static_cast<int64_t>(places.size());
  const int64_t found = most == 0 ? 0 : results(most, places.data());
  while (static_cast<int64_t>(configs.size()) > found) configs.pop_back();
  return configs;
}

bool depends_on_timing(const Part& config) {
  const Part engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  Descriptor place = engine.get();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &place);
  std::array<int, 32> notes{};
  const int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                   static_cast<int64_t>(notes.size()), notes.data());
  const auto end = notes.begin() + std::min<int64_t>(count, notes.size());
  return std::find(notes.begin(), end, kDependsOnTiming) != end;
}

/// Without a plan, cuDNN has refused.
struct Plan {
  std::optional<Part> plan;
  int64_t workspace = 0;
  bool is_refused() const { return !plan; }
};

/// The plan of a config; null if it is refused.
std::optional<Plan> plan_of(const Part& config, const Part& device) {
  try {
    if (depends_on_timing(config)) return std::nullopt;
    Plan made{Part(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), 0};
    made.plan->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    made.plan->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
    made.plan->finalize();
    made.plan->get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &made.workspace);
    return made;
  } catch (const Refused&) {
    return std::nullopt;
  }
}

Plan make_plan(Handle handle, const Attention& attention) {
  try {
    const AttentionGraph graph(attention);
    Part device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    device.set(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    device.finalize();
    for (const Part& config : configs_of(graph, device)) {
      if (std::optional<Plan> plan = plan_of(config, device)) return std::move(*plan);
    }
    throw Refused{"no engine"};
  } catch (const Refused& refused) {
    EBB_LOG_AT(LogPart::general, 1, str("cuda: attention is not cuDNN's: ", refused.why));
    return {};
  }
}

/// All plans, by device, dtype, sizes and strides. Held by who uses one: a plan is no more than one
/// thread's at a time.
struct Plans {
  using Key = std::vector<int64_t>;
  std::mutex mutex;
  std::map<Key, Plan> made;

  static Key key_of(const CudaDevice& device, const Attention& attention) {
    Key key{device.id, static_cast<int64_t>(attention.dtype), attention.is_causal ? 1 : 0};
    for (const AttentionSide* side :
         {&attention.query, &attention.key, &attention.value, &attention.out}) {
      const Four strides = tidy_strides(*side);
      key.insert(key.end(), side->sizes.begin(), side->sizes.end());
      key.insert(key.end(), strides.begin(), strides.end());
    }
    return key;
  }
  Plan& plan_for(const CudaDevice& device, Handle handle, const Attention& attention) {
    Key key = key_of(device, attention);
    const auto found = made.find(key);
    if (found != made.end()) return found->second;
    return made.emplace(std::move(key), make_plan(handle, attention)).first->second;
  }
};
Plans& plans() {
  static Plans& all = *new Plans;  // never destroyed: cuDNN may be closed before
  return all;
}

/// Queues the work of a plan.
void execute(Handle handle, const Plan& plan, const Attention& attention, void* workspace) {
  // Read by the call.
  auto factor = static_cast<float>(attention.scale);
  float hidden = -std::numeric_limits<float>::infinity();
  const std::array<int64_t, 7> numbers{Number::query,     Number::key,   Number::value, Number::out,
                                       Number::logsumexp, Number::scale, Number::hidden};
  const std::array<void*, 7> pointers{attention.query.data,
                                      attention.key.data,
                                      attention.value.data,
                                      attention.out.data,
                                      attention.logsumexp,
                                      &factor,
                                      &hidden};
  const size_t count = attention.is_causal ? 7 : 6;
  Part pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span(numbers).first(count));
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(count),
           pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  check_graph(cudnn()->graph->execute(handle, plan.plan->get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace

bool queue_by_cudnn(CudaStream& stream, const Attention& attention) {
  if (!takes(*stream.device, attention)) return false;
  const ContextScope scope(stream.device->context);
  const std::unique_lock lock(stream.library_mutex);
  const Handle handle = cudnn_handle(stream);
  const std::lock_guard plans_lock(plans().mutex);
  Plan& plan = plans().plan_for(*stream.device, handle, attention);
  if (plan.is_refused()) return false;
  const devices::PoolBlock workspace(
      *stream.device->memory, static_cast<size_t>(std::max<int64_t>(plan.workspace, 1)), &stream);
  try {
    execute(handle, plan, attention, workspace.data());
    return true;
  } catch (const Refused&) {
    return false;  // some cases are refused only now
  }
}

}  // namespace ebb::cuda
