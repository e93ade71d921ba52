// ebb/autograd/history/pack_saved.h -- lets the hooks of saved_hooks.h pack what a node has saved.
#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include "ebb/autograd/history/node.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Lets this thread's hooks pack what `node` has saved so far. Nobody else may know the node yet.
EBB_API void pack_saved(Node& node);
/// The same if there are hooks.
inline void pack_if_hooked(Node& node) {
  if ((thread_state.modes & gate::kSavedHooks) != 0) [[unlikely]]
    pack_saved(node);
}
/// Lets them pack what the node of `out` saved, if `out` has a history.
EBB_API void pack_saved_of(const Tensor& out);

/// The results of a call that was recorded with these gate bits, with what they saved packed.
template <typename Results>
Results packed(Results results, uint32_t bits) {
  if ((bits & gate::kSavedHooks) == 0) return results;
  if constexpr (std::is_same_v<Results, Tensor>) {
    pack_saved_of(results);
  } else if constexpr (std::is_same_v<Results, std::vector<Tensor>>) {
    if (!results.empty()) pack_saved_of(results[0]);
  } else {
    std::apply([](const auto&... out) { (pack_saved_of(out), ...); }, results);
  }
  return results;
}

}  // namespace ebb::autograd
