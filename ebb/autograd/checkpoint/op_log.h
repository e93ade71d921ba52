// ebb/autograd/checkpoint/op_log.h -- the ops that a function called, and two such lists side by
// side.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ebb/autograd/history/op_observer.h"

namespace ebb::autograd {

/// Notes each op with its results and its place.
class OpLog final : public OpObserver {
 public:
  void see(const OpCall& call, std::span<const Tensor> results) override;

  /// Both lists, a line for each position, with a mark where other ops were called.
  static std::string side_by_side(const OpLog& first, const OpLog& again);

 private:
  struct Line {
    std::string call;  // "mul -> float32 [2, 3]"
    LocationId location;
  };
  std::string text_at(size_t index) const;

  std::vector<Line> lines_;
};

}  // namespace ebb::autograd
