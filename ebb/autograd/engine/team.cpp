// ebb/autograd/engine/team.cpp -- when a team is allowed, and which nodes it runs.
#include "ebb/autograd/engine/team.h"

#include <cstdlib>
#include <cstring>

#include "ebb/autograd/engine/parallel_backward.h"
#include "ebb/autograd/engine/placed_run.h"
#include "ebb/autograd/history/packed_value.h"
#include "ebb/autograd/history/shared_gradient.h"
#include "ebb/kernels/kernel_table.h"

namespace ebb {
namespace {

using autograd::Edge;
using autograd::OutputMeta;

std::atomic<uint64_t> teams{0};
std::atomic<uint64_t> nodes_by_others{0};
std::atomic<uint64_t> device_nodes{0};

bool is_enabled_at_start() {
  const char* const text = std::getenv("EBB_PARALLEL_BACKWARD");
  return text == nullptr || std::strcmp(text, "0") != 0;
}

enum class Choice : uint8_t { as_at_start, on, off };
thread_local Choice choice = Choice::as_at_start;

// Modes that look at ops one after another, or call Python from within nodes.
constexpr uint32_t kModesForOneThread = gate::kSavedHooks | gate::kAnomaly | gate::kNanCheck;

bool is_on_cpu(const OutputMeta& meta) { return is_on_host(revealed(meta.device)); }

int64_t numel_of(const OutputMeta& meta) {
  int64_t count = 1;
  for (const int64_t size : meta.shape()) count *= size;
  return count;
}

}  // namespace

void set_parallel_backward(bool is_enabled) { choice = is_enabled ? Choice::on : Choice::off; }

bool is_parallel_backward() {
  static const bool at_start = is_enabled_at_start();
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

void note_device_node() { device_nodes.fetch_add(1, std::memory_order_relaxed); }

bool may_use_threads() {
  return is_parallel_backward() && (thread_state.modes & kModesForOneThread) == 0 &&
         !PackedValue::any_alive() && !any_gradient_is_shared();
}

bool may_share_run() { return num_threads() > 1 && !is_in_parallel_piece() && may_use_threads(); }

bool runs_anywhere(const Node& node) {
  return node.extra() == nullptr && !node.needs_caller_thread() && !touches_device(node);
}

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
    elements += numel_of(node.output_meta(index));
  }
  for (const Edge& edge : node.edges()) {
    if (edge.node != nullptr) elements += numel_of(edge.node->output_meta(edge.index));
  }
  return elements > 2 * kernels::kRowLimit;
}

}  // namespace autograd
}  // namespace ebb
