// ebb/autograd/checkpoint/selective_cache.h -- results that a checkpointed call keeps instead of
// computing them again, chosen by a policy that is asked for each op.
//
// Two observers (op_observer.h) share the cache. The first call's keeps a detached alias of what
// the policy wants saved, and notes for everything that the op saved for backward whether it is an
// operand, a result, or neither; only the last is kept too. A later call's gives the results out
// again, by op and order, with a node that saves the same tensors as the op's own: so hooks, the
// checkpoint's among them, see what they would have seen, and the kernel does not run.
//
// Never kept: what an op wrote in place, a view (to make it again costs nothing) and what carries
// tangents.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/history/op_observer.h"
#include "ebb/core/base/random.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

/// What a policy says of an op. "Prefer" differs from "must" only for compilers; ebb obeys.
enum class CheckpointPolicy : uint8_t { must_save, prefer_save, must_recompute, prefer_recompute };

/// Asked before each differentiable op that does not write in place, on the thread that calls it.
using CheckpointPolicyFunction =
    std::function<CheckpointPolicy(const autograd::OpCall& call, bool is_recompute)>;

namespace autograd {

/// The name of nodes that give kept results out: they save what the op's own would have saved.
inline constexpr const char* kKeptResult = "KeptResult";

/// See the top of the file. Always owned by shared pointers. One call at a time.
class EBB_API SelectiveCache : public std::enable_shared_from_this<SelectiveCache> {
 public:
  /// `allows_mutation`: give a kept result out although it was written to since.
  explicit SelectiveCache(CheckpointPolicyFunction policy, bool allows_mutation = false);
  ~SelectiveCache();

  /// To be installed during the first call, which starts with an empty cache.
  std::shared_ptr<OpObserver> keeper();
  /// To be installed during a later call. Ops throw AutogradError if one is to be given out that
  /// was not kept, or was written to.
  std::shared_ptr<OpObserver> giver();
  /// Of the memory kept; shared memory counts once for each result.
  size_t bytes() const;

 private:
  class Keeper;
  class Giver;
  struct Entry;
  /// The calls of one op that the policy wanted saved.
  struct Kept {
    std::deque<Entry> entries;
    size_t next = 0;  // to be given out
  };
  bool wants(const OpCall& call, bool is_recompute) const;

  const CheckpointPolicyFunction policy_;
  const bool allows_mutation_;
  std::unordered_map<std::string, Kept> kept_;  // by op
};

}  // namespace autograd
}  // namespace ebb
