// ebb/graph/step.h -- one step on the way from an input to an output, as explain() tells it.
#pragma once

#include <cstdint>
#include <string>

#include "ebb/autograd/history/origin.h"
#include "ebb/core/base/location.h"

namespace ebb::graph {

enum class StepKind : uint8_t {
  recorded,    // a node of the graph
  unrecorded,  // an op whose result has no history
  left,        // a value that became a number, a list or an array
  entered,     // a tensor made from such
};

/// An op on the way.
struct Step {
  std::string op;      // "LinearBackward", "detach"; "" if only the place of a cut is known
  std::string module;  // the path of the module that called it, or its class if it is the outermost
  LocationId place = 0;
  StepKind kind = StepKind::recorded;
  autograd::Cut cut = autograd::Cut::never_asked;  // of an unrecorded one
  bool is_freed = false;                           // a run freed what the node had saved
  uint32_t hooks = 0;
  uint32_t times = 1;  // how often the same happened at this place
};

}  // namespace ebb::graph
