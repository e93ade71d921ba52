// ebb/autograd/engine/crew.h -- what the threads of one run share, and which of them runs a node.
//
// Threads come together in two ways. A team (team.h) shares branches of a graph on the CPU. In a
// run with nodes on devices (placed_run.h) each device's worker runs the device's nodes, and the
// caller's thread the others, and those with hooks or Python code.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "ebb/autograd/engine/board.h"
#include "ebb/autograd/engine/device_worker.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/thread_modes.h"
#include "ebb/core/base/log.h"
#include "ebb/core/device/stream_set.h"

namespace ebb::autograd {

/// More threads than this never work on one graph.
inline constexpr size_t kMostLanes = 64;

/// Whether the settings and modes of this thread allow other threads to run nodes, and teams.
bool may_use_threads();
bool may_share_run();
/// Whether the node has neither hooks nor Python code.
inline bool is_plain(const Node& node) {
  return node.extra() == nullptr && !node.needs_caller_thread();
}
/// Whether the node takes gradients of a device, or makes some.
bool touches_device(const Node& node);
/// Whether the kernels of the node are worth several threads.
bool is_large(const Node& node);
inline bool is_for_team(const Node& node) {
  return is_plain(node) && !touches_device(node) && !is_large(node);
}

/// Counts for backward_threads().
void note_team(uint64_t nodes_by_others);
void note_device_nodes(uint64_t count);

/// Bytes that wait for others; past a limit the run goes on alone.
class WaitingBytes {
 public:
  /// True if that was too much.
  bool add(const Tensor& grad) { return add(grad.numel() * item_size(grad.dtype())); }
  bool add(int64_t bytes) {
    return count_.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMost;
  }
  bool is_too_much() const { return count_.load(std::memory_order_relaxed) > kMost; }

 private:
  static constexpr int64_t kMost = int64_t{64} << 20;
  std::atomic<int64_t> count_{0};
};

struct Crew {
  /// A team.
  Crew() : is_team(true) {}
  /// A run with nodes on devices, and the devices whose workers may run them.
  explicit Crew(std::vector<Device> devices)
      : is_team(false), devices(std::move(devices)), board(this->devices.size()) {}

  const bool is_team;
  std::vector<Device> devices;      // each worker has a list of the board: the next after the
  std::vector<DeviceJob*> workers;  // ... number of its place here
  Board board;
  WaitingBytes waiting_bytes;
  DeferredWarnings warnings;                    // of all but the caller
  const StreamSet streams = current_streams();  // the caller's: leaves are added to on them
  const ThreadModes modes = ThreadModes::current();
  std::atomic<uint64_t> helped_ns{0};
  std::atomic<uint64_t> nodes_by_helpers{0};

  /// Puts a ready node on the list of who runs it.
  void push(Node* node);
  /// For the caller, after all others have left: throws what was thrown.
  void finish();
};

/// Makes the thread's current streams wait for those of the sets, or the other way round.
void join_streams(std::span<const StreamSet> sets);
void fork_streams(std::span<const StreamSet> sets);

}  // namespace ebb::autograd
