// ebb/devices/cuda/cudnn/attention_graph.h -- attention as a graph of cuDNN.
#pragma once

#include <deque>
#include <vector>

#include "ebb/devices/cuda/cudnn/graph.h"
#include "ebb/devices/launch/attention.h"

namespace ebb::cuda {

using Four = std::array<int64_t, 4>;

/// The numbers by which a pack names tensors. `scale` and `hidden` are numbers of the host in
/// float32.
struct Number {
  enum : int64_t { query = 1, key, value, out, logsumexp, scale, hidden, first_inner };
};
/// Tensors and their rows begin at multiples of it, in bytes.
constexpr int64_t kAlignment = 16;

/// A side's strides; those of a dim of size 1, which nobody follows, as if it were dense there.
Four tidy_strides(const devices::AttentionSide& side);

/// The graph and all that it names. `hidden` is what replaces scores that a row does not see; only
/// causal attention has it.
class AttentionGraph {
 public:
  /// Throws Refused or Failure.
  explicit AttentionGraph(const devices::Attention& attention);
  const Part& get() const { return graph_; }

 private:
  /// What a tensor is for: read or written by the pack, a number of the host, or between
  /// operations.
  enum class Role : uint8_t { outer, number, inner };

  const Part& tensor(int64_t number, Role role, int type, const Four& sizes, const Four& strides);
  const Part& side(int64_t number, const devices::AttentionSide& side);
  const Part& host_number(int64_t number);
  const Part& inner(int type, const Four& sizes);

  void multiply(const Part& left, const Part& right, const Part& out);
  /// `other` and `where` may be null; `dim` is that of an index.
  void apply(int mode, const Part& x, const Part* other, const Part& y, const Part* where = nullptr,
             int64_t dim = -1);
  const Part& reduce(int how, const Part& x, const Four& sizes);

  const Part& scores_of(const devices::Attention& attention);
  const Part& only_seen(const Part& scores);
  Part& add(PartType type, std::deque<Part>& to);
  void finish();

  int type_, wide_;
  Four scores_, rows_;
  int64_t next_ = Number::first_inner;
  std::deque<Part> parts_;  // tensors, and what operations do
  std::deque<Part> operations_;
  Part graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace ebb::cuda
