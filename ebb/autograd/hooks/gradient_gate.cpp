// ebb/autograd/hooks/gradient_gate.cpp -- holding gradients back, and finding who sends them.
#include "ebb/autograd/hooks/gradient_gate.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_set>

#include "ebb/autograd/history/gradients/gradient_math.h"
#include "ebb/autograd/hooks/active_run.h"
#include "ebb/core/base/thread_state.h"

namespace ebb::autograd {
namespace {

/// Gates that may hold gradients back.
struct HoldingGates {
  std::mutex mutex;
  std::unordered_set<GateGroup*> alive;
};
HoldingGates& holding_gates() {
  static auto* const instance = new HoldingGates();  // never destroyed: graphs may outlive statics
  return *instance;
}
std::atomic<uint64_t> gates_made{0};

}  // namespace

GateGroup::GateGroup(Awaits awaits, size_t positions, std::vector<Member> members,
                     std::shared_ptr<GateGroup> entry)
    : GradGroup(awaits, positions, std::move(members)),
      entry_(std::move(entry)),
      may_hold_(member_count() > 1) {
  if (may_hold_) {
    HoldingGates& gates = holding_gates();
    const std::lock_guard lock(gates.mutex);
    gates.alive.insert(this);
    gates_made.fetch_add(1, std::memory_order_relaxed);
  }
  if (entry_ != nullptr) entry_->has_exit_ = true;
}

GateGroup::~GateGroup() {
  if (!may_hold_) return;
  HoldingGates& gates = holding_gates();
  const std::lock_guard lock(gates.mutex);
  gates.alive.erase(this);
}

uint64_t GateGroup::count_made() { return gates_made.load(std::memory_order_relaxed); }

bool GateGroup::any_in(const ActiveRun& run) {
  HoldingGates& gates = holding_gates();
  const std::lock_guard lock(gates.mutex);
  return std::any_of(gates.alive.begin(), gates.alive.end(), [&](GateGroup* gate) {
    bool is_met = false;
    gate->for_each([&](const Member& member) { is_met = is_met || run.will_reach(*member.node); });
    return is_met;
  });
}

/// Where the gradient `index` of the node goes: to the node itself, or along one of its edges.
Edge GateHook::goal_of(uint32_t index) const {
  return group_->is_entry() ? Edge{node_, index, 0} : node_->edges()[index];
}

GateHook::Arrival GateHook::arrive(ActiveRun& run, const HookCall& call, GroupState& state) {
  if (state.is_complete) return Arrival::passed;
  state.is_complete = group_->note_arrival(run, state);
  state.goals.resize(group_->positions());
  for (const auto& [index, position] : places()) {
    Tensor share = std::exchange(call.grads[index], {});
    Tensor& sum = state.grads[position];
    if (share.defined()) sum = sum.defined() ? sum_of(sum, share) : std::move(share);
  }
  if (state.is_complete) return Arrival::last;
  return hold(run, state) ? Arrival::held : Arrival::passed;
}

/// Makes the nodes that this member sends to wait for the gate. They wait for the member as yet, or
/// it is the member's own turn: nobody else can let them run meanwhile.
bool GateHook::hold(ActiveRun& run, GroupState& state) {
  bool holds_any = false;
  for (const auto& [index, position] : places()) {
    const Edge goal = goal_of(index);
    if (!run.will_take(goal)) continue;
    holds_any = true;
    if (state.goals[position].node != nullptr) continue;
    run.hold(*goal.node);
    state.goals[position] = goal;
  }
  if (holds_any && state.gate == nullptr) state.gate = shared_from_this();
  return holds_any;
}

void GateHook::call(const HookCall& call) {
  ActiveRun* const run = active_run();
  if (run == nullptr) return;  // a node called by hand
  std::vector<Edge> goals;
  const Arrival arrival = run->with_group_state(group_->number(), [&](GroupState& state) {
    const Arrival how = arrive(*run, call, state);
    if (how == Arrival::last) goals = std::exchange(state.goals, {});
    return how;
  });
  if (arrival == Arrival::held && call.is_held != nullptr) *call.is_held = true;
  if (arrival != Arrival::last) return;
  std::vector<Tensor> grads = let_pass(*run, goals);
  for (const auto& [index, position] : places()) {  // what nobody waits for leaves by this node
    if (goals[position].node != nullptr) continue;
    check_replacement(HookKind::gate, *this, goal_of(index), grads[position]);
    call.grads[index] = std::exchange(grads[position], {});
  }
}

/// Calls the hook and sends on what others wait for. Returns all gradients.
std::vector<Tensor> GateHook::let_pass(ActiveRun& run, const std::vector<Edge>& goals) {
  std::vector<Tensor> grads, entered;
  run.with_group_state(group_->number(), [&](GroupState& state) {
    grads = std::exchange(state.grads, {});
    state.gate = nullptr;
  });
  if (GateGroup* const entry = group_->entry(); entry != nullptr) {
    run.with_group_state(entry->number(),
                         [&](GroupState& state) { entered = std::exchange(state.entered, {}); });
  }
  pass(grads, entered);
  if (group_->has_exit()) {
    run.with_group_state(group_->number(), [&](GroupState& state) { state.entered = grads; });
  }
  for (size_t position = 0; position < goals.size(); ++position) {
    if (goals[position].node == nullptr) continue;
    check_replacement(HookKind::gate, *this, goals[position], grads[position]);
    run.send(goals[position], grads[position]);
  }
  return grads;
}

Node& GateHook::open_early(ActiveRun& run) {
  std::vector<Edge> goals;
  run.with_group_state(group_->number(), [&](GroupState& state) {
    if (group_->is_entry()) take_waiting(run, state);
    state.is_complete = true;
    goals = std::exchange(state.goals, {});
  });
  call_in_place(HookKind::gate, *this, *node_, [&] { let_pass(run, goals); });
  return *node_;
}

/// Takes what has come to members whose turn cannot come before the gate opens.
void GateHook::take_waiting(ActiveRun& run, GroupState& state) {
  group_->for_each([&](const GradGroup::Member& member) {
    for (const auto& [index, position] : member.places) {
      const Edge goal{member.node, index, 0};
      const bool is_held = state.goals[position].node != nullptr;
      if (is_held || !run.will_reach(*member.node) || !run.will_take(goal)) continue;
      state.grads[position] = run.take_gradient(goal);
      run.hold(*member.node);
      state.goals[position] = goal;
    }
  });
}

namespace {

std::shared_ptr<GateGroup> add_gate(HookKind kind, std::vector<GradGroup::Member> members,
                                    size_t positions, std::shared_ptr<GateGroup> entry,
                                    const MakeGateHook& make) {
  const auto awaits =
      kind == HookKind::gate ? GradGroup::Awaits::reached : GradGroup::Awaits::executed;
  const size_t count = members.size();
  const auto group =
      std::make_shared<GateGroup>(awaits, positions, std::move(members), std::move(entry));
  for (size_t member = 0; member < count; ++member) {
    add_node_hook(*group->member(member).node, kind, make(group, member));
  }
  return group;
}

/// The nodes behind `outputs` recorded since `since`.
std::vector<Node*> nodes_since(uint64_t since, std::span<const Tensor> outputs) {
  std::vector<Node*> found, stack;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](Node* node) {
    const bool is_inside = node != nullptr && !node->is_accumulator() && node->sequence() >= since;
    if (is_inside && seen.insert(node).second) stack.push_back(node);
  };
  for (const Tensor& output : outputs) visit(gradient_edge(output).node);
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    found.push_back(node);
    for (const Edge& edge : node->edges()) visit(edge.node);
  }
  return found;
}

}  // namespace

std::shared_ptr<GateGroup> add_entry_gate(std::span<const Tensor> outputs,
                                          const MakeGateHook& make) {
  std::vector<GradGroup::Member> members;
  for (uint32_t position = 0; position < outputs.size(); ++position) {
    const Edge edge = gradient_edge(outputs[position]);
    auto member = std::find_if(members.begin(), members.end(),
                               [&](const auto& other) { return other.node == edge.node; });
    if (member == members.end()) member = members.insert(member, {edge.node, {}});
    member->places.emplace_back(edge.index, position);
  }
  return add_gate(HookKind::gate, std::move(members), outputs.size(), nullptr, make);
}

size_t add_exit_gate(std::span<const Tensor> outputs, std::span<const GradientEdge> edges,
                     uint64_t since, std::shared_ptr<GateGroup> entry, const MakeGateHook& make) {
  std::map<std::pair<const Node*, uint32_t>, uint32_t> positions;
  for (uint32_t position = 0; position < edges.size(); ++position) {
    positions.try_emplace({edges[position].node.get(), edges[position].output_nr}, position);
  }
  std::vector<GradGroup::Member> senders;
  for (Node* const node : nodes_since(since, outputs)) {
    GradGroup::Places places;
    for (uint32_t index = 0; index < node->edge_count(); ++index) {
      const Edge& edge = node->edges()[index];
      const auto found = positions.find({edge.node, edge.index});
      if (found != positions.end()) places.emplace_back(index, found->second);
    }
    if (!places.empty()) senders.push_back({node, std::move(places)});
  }
  const size_t count = senders.size();
  if (count > 0) {
    add_gate(HookKind::post, std::move(senders), edges.size(), std::move(entry), make);
  }
  return count;
}

uint64_t next_sequence() { return thread_state.next_sequence; }

Node* ActiveRun::open_stalled_gate() {
  std::shared_ptr<GateHook> last;
  {
    Notes& notes = ensure_notes();
    const std::lock_guard lock(notes.mutex);
    uint64_t last_number = 0;
    for (const auto& [number, state] : notes.groups) {
      if (state.gate == nullptr || number < last_number) continue;
      last_number = number;
      last = state.gate;
    }
  }
  return last == nullptr ? nullptr : &last->open_early(*this);
}

}  // namespace ebb::autograd
