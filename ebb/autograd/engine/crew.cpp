// ebb/autograd/engine/crew.cpp -- when several threads are allowed, where nodes run, and whose
// streams wait for whose.
#include "ebb/autograd/engine/crew.h"

#include <algorithm>
#include <string>

#include "ebb/autograd/engine/parallel_backward.h"
#include "ebb/autograd/history/gradients/shared_gradient.h"
#include "ebb/autograd/history/packed_value.h"
#include "ebb/core/base/flags.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/kernel_table.h"

namespace ebb {
namespace {

using autograd::Edge;
using autograd::OutputMeta;

std::atomic<uint64_t> teams{0};
std::atomic<uint64_t> nodes_by_others{0};
std::atomic<uint64_t> device_nodes{0};

enum class Choice : uint8_t { as_at_start, on, off };
thread_local Choice choice = Choice::as_at_start;

const FlagEntry entry({
    .name = "parallel_backward",
    .type = FlagType::boolean,
    .fallback = "true",
    .doc = "Whether backward runs of this thread use several threads.",
    .get = [] { return std::string(is_parallel_backward() ? "true" : "false"); },
    .set = [](std::string_view value) { set_parallel_backward(value == "true"); },
});

// Modes that look at ops one after another, or call Python from within nodes.
constexpr uint32_t kModesForOneThread = gate::kSavedHooks | gate::kAnomaly | gate::kNanCheck;

/// Whether no worker is needed: nodes of meta have nothing to do.
bool is_for_caller(Device device) { return is_on_host(device) || is_meta(device); }

bool is_on_cpu(const OutputMeta& meta) { return is_for_caller(revealed(meta.device)); }

}  // namespace

void set_parallel_backward(bool is_enabled) { choice = is_enabled ? Choice::on : Choice::off; }

bool is_parallel_backward() {
  static const bool at_start = flag_in_environment("parallel_backward", true);
  return choice == Choice::as_at_start ? at_start : choice == Choice::on;
}

BackwardThreads backward_threads() {
  return {.teams = teams, .nodes_by_others = nodes_by_others, .device_nodes = device_nodes};
}

namespace autograd {

void note_team(uint64_t count) {
  ++teams;
  nodes_by_others += count;
}

void note_device_nodes(uint64_t count) { device_nodes.fetch_add(count, std::memory_order_relaxed); }

bool may_use_threads() {
  return is_parallel_backward() && (thread_state.modes & kModesForOneThread) == 0 &&
         !PackedValue::any_alive() && !any_gradient_is_shared();
}

bool may_share_run() { return num_threads() > 1 && !is_in_parallel_piece() && may_use_threads(); }

bool touches_device(const Node& node) {
  if (!is_on_cpu(node.output_meta(0))) return true;
  const std::span<const Edge> edges = node.edges();
  return std::any_of(edges.begin(), edges.end(), [](const Edge& edge) {
    return edge.node != nullptr && !is_on_cpu(edge.node->output_meta(edge.index));
  });
}

// A kernel splits its work from kRowLimit elements on; products of matrices that have fewer
// elements together do not, either.
bool is_large(const Node& node) {
  int64_t elements = 0;
  for (uint32_t index = 0; index < node.output_count(); ++index) {
    elements += numel_of(node.output_meta(index).shape());
  }
  for (const Edge& edge : node.edges()) {
    if (edge.node != nullptr) elements += numel_of(edge.node->output_meta(edge.index).shape());
  }
  return elements > 2 * kernels::kRowLimit;
}

namespace {

/// The device whose worker may run the node; the CPU for what the caller's thread runs.
Device home_of(const Node& node) {
  if (!is_plain(node)) return {};
  const Device device = revealed(node.output_meta(0).device);
  return is_for_caller(device) ? Device{} : device;
}

size_t list_of(const Node& node, const std::vector<Device>& devices) {
  if (devices.empty()) return 0;
  const auto home = std::find(devices.begin(), devices.end(), home_of(node));
  return home == devices.end() ? 0 : static_cast<size_t>(home - devices.begin()) + 1;
}

/// Calls `use(mine, other)` for each device for which the thread's current streams and those of the
/// set differ.
template <typename Use>
void for_each_difference(StreamSet set, Use&& use) {
  for (const Stream& other : streams_in(set)) {
    const Stream mine = current_stream(other.device);
    if (mine != other) use(mine, other);
  }
  for (const Stream& mine : streams_in(current_streams())) {
    const Stream other = stream_in(set, mine.device);
    if (other.id == 0) use(mine, other);
  }
}

}  // namespace

void Crew::push(Node* node) {
  const size_t list = list_of(*node, devices);
  if (!board.push(list, node)) return;
  DeviceJob& worker = *workers[list - 1];
  if (!post_to_worker(devices[list - 1], worker)) worker.work();
}

void Crew::finish() {
  try {
    warnings.replay();
  } catch (...) {
    board.fail(0);
  }
  board.rethrow();
}

void fork_streams(std::span<const StreamSet> sets) {
  for (const StreamSet set : sets) {
    for_each_difference(set, [](Stream mine, Stream other) { order_streams(mine, other); });
  }
}

void join_streams(std::span<const StreamSet> sets) {
  for (const StreamSet set : sets) {
    for_each_difference(set, [](Stream mine, Stream other) { order_streams(other, mine); });
  }
}

}  // namespace autograd
}  // namespace ebb
