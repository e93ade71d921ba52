// ebb/graph/explain.h -- why an input of a computation gets a gradient, or gets none.
//
// explain() takes a snapshot of what is recorded behind the outputs and looks for the input in it:
// the ways by which its gradient comes are counted, a few are shown. If it is not there, the notes
// of traced cuts (autograd/cut_trace.h) and the origins of tensors without history tell where the
// ways end. Everything is listed in the order of the program: from the input to the outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ebb/autograd/history/origin.h"
#include "ebb/core/base/location.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/graph/step.h"

namespace ebb::graph {

/// Why an input gets a gradient, or none.
enum class Reason : uint8_t {
  gets_gradient,
  requires_no_grad,        // the input was never asked for one, or not any more
  output_without_history,  // no output requires a gradient
  cut,                     // values of the input arrive, but their history was cut on the way
  left,                    // values of the input became numbers or arrays
  not_used,                // nothing leads from the input to the outputs, as far as is known
};
/// "gets_gradient", ...
EBB_API const char* name_of(Reason reason);

struct Explanation {
  Reason reason = Reason::not_used;
  uint64_t ways = 0;                     // told by the nodes on them; UINT64_MAX: that or more
  std::vector<std::vector<Step>> paths;  // the shortest ones
  std::vector<Step> freed;               // nodes on any way whose saved values are gone
  std::vector<Step> hooked;              // nodes on any way that have hooks
  std::vector<Step> cuts;                // ops where the history of the input's values ends
  bool cuts_are_candidates = false;      // they may have cut off something else
  std::vector<Step> trail;               // through one of the cuts, if it is known
  std::vector<Step> left, entered;       // of the input's values; of the outputs' operands
};

/// Throws ValueError without outputs or for undefined tensors.
EBB_API Explanation explain(std::span<const Tensor> outputs, const Tensor& input,
                            size_t most_paths = 3);
inline Explanation explain(const Tensor& output, const Tensor& input) {
  return explain(std::span(&output, 1), input);
}

/// One of many inputs.
struct InputSummary {
  Reason reason = Reason::not_used;
  uint64_t ways = 0;
  Step step;  // the first op on a shortest way, or the cut; without a place if neither is known
};
/// All inputs at once: linear in the size of the graph and the notes.
EBB_API std::vector<InputSummary> explain_all(std::span<const Tensor> outputs,
                                              std::span<const Tensor> inputs);

/// Leaves that get a gradient from the outputs and are none of the inputs, in the order of their
/// first use.
EBB_API std::vector<Tensor> other_leaves(std::span<const Tensor> outputs,
                                         std::span<const Tensor> inputs);

/// "gets_gradient: 2 ways ...", a line for each step of the first way or trail.
EBB_API std::string to_string(const Explanation& explanation);

}  // namespace ebb::graph
