// ebb/graph/rows.h -- the rows of a snapshot's tables, one struct per table (snapshot.h).
//
// columns() of a row names its columns, once for all that reads them: JSON, Python and the page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::graph {

using autograd::NodeKind;

/// Says that a row has no module, location, attributes or name.
inline constexpr uint32_t kNone = UINT32_MAX;

struct NodeRow {
  uint64_t sequence;  // in the order of recording; 0 for leaves
  uint32_t name;
  uint32_t module;
  LocationId location;  // 0 if unknown
  uint32_t attributes;
  NodeKind kind;
  bool is_freed;  // what it saved was freed by a run

  int64_t order() const { return kind == NodeKind::leaf ? -1 : static_cast<int64_t>(sequence); }

  static void columns(auto&& visit) {
    visit("name", &NodeRow::name);
    visit("sequence", &NodeRow::order);
    visit("module", &NodeRow::module);
    visit("kind", &NodeRow::kind);
    visit("freed", &NodeRow::is_freed);
  }
};

/// What a node made forward, and so what flows back into it.
struct OutputRow {
  uint32_t node, index, shape;
  uint32_t name;  // as given to take_snapshot()
  DType dtype;
  Device device;

  static void columns(auto&& visit) {
    visit("node", &OutputRow::node);
    visit("index", &OutputRow::index);
    visit("shape", &OutputRow::shape);
    visit("dtype", &OutputRow::dtype);
    visit("device", &OutputRow::device);
    visit("name", &OutputRow::name);
  }
};

/// The gradient of input `input` of node `from` flows into output `output` of node `to`. Inputs
/// that want no gradient have no row.
struct EdgeRow {
  uint32_t from, input, to, output;

  static void columns(auto&& visit) {
    visit("from", &EdgeRow::from);
    visit("input", &EdgeRow::input);
    visit("to", &EdgeRow::to);
    visit("output", &EdgeRow::output);
  }
};

struct LeafRow {
  uint64_t bytes;
  uint32_t node, name;
  bool requires_grad;

  static void columns(auto&& visit) {
    visit("node", &LeafRow::node);
    visit("name", &LeafRow::name);
    visit("requires_grad", &LeafRow::requires_grad);
    visit("bytes", &LeafRow::bytes);
  }
};

struct SavedRow {
  uint64_t bytes;  // of its elements; of what hooks keep instead, as far as they can tell
  uint32_t node, name, shape, version;
  uint32_t storage;  // equal for those that share memory
  DType dtype;
  Device device;
  bool is_packed;  // hooks keep something else instead

  static void columns(auto&& visit) {
    visit("node", &SavedRow::node);
    visit("name", &SavedRow::name);
    visit("shape", &SavedRow::shape);
    visit("dtype", &SavedRow::dtype);
    visit("device", &SavedRow::device);
    visit("bytes", &SavedRow::bytes);
    visit("version", &SavedRow::version);
    visit("storage", &SavedRow::storage);
    visit("packed", &SavedRow::is_packed);
  }
};

struct HookRow {
  uint32_t node;
  uint32_t tensor, pre, post, post_accumulate;  // how many there are of each kind

  static void columns(auto&& visit) {
    visit("node", &HookRow::node);
    counts(visit);
  }
  static void counts(auto&& visit) {
    visit("tensor", &HookRow::tensor);
    visit("pre", &HookRow::pre);
    visit("post", &HookRow::post);
    visit("post_accumulate", &HookRow::post_accumulate);
  }
};

/// A node whose output shares the memory of an output of `base`.
struct ViewRow {
  uint32_t node, base;

  static void columns(auto&& visit) {
    visit("node", &ViewRow::node);
    visit("base", &ViewRow::base);
  }
};

struct RootRow {
  uint32_t node, output;

  static void columns(auto&& visit) {
    visit("node", &RootRow::node);
    visit("output", &RootRow::output);
  }
};

/// A module that was called. The outermost has an empty path.
struct ModuleRow {
  uint32_t path, type, parent;  // the parent's number is smaller
};

/// What a profile says of a node: how long its op and its backward run took, all runs together.
struct TimeRow {
  int64_t forward_ns;   // -1 if the op ran outside of the profile; so for the next
  int64_t backward_ns;  // of the node
  int64_t allocated;    // bytes, in both; those made for results unless the profile notes memory

  /// Both together; -1 if neither is known.
  int64_t total_ns() const {
    if (forward_ns < 0) return backward_ns;
    return forward_ns + (backward_ns < 0 ? 0 : backward_ns);
  }

  static void columns(auto&& visit) {
    visit("time_ns", &TimeRow::total_ns);
    visit("forward_ns", &TimeRow::forward_ns);
    visit("backward_ns", &TimeRow::backward_ns);
    visit("allocated", &TimeRow::allocated);
  }
};

/// An attribute of an op: its value is JSON.
struct Attribute {
  uint32_t name;
  std::string value;
};

}  // namespace ebb::graph
