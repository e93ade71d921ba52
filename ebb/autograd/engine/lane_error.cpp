// ebb/autograd/engine/lane_error.cpp -- choosing among the errors of several threads.
#include "ebb/autograd/engine/lane_error.h"

#include <utility>

#include "ebb/autograd/engine/pacer.h"

namespace ebb::autograd {

void LaneError::note(uint64_t sequence) noexcept {
  bool is_own = true;
  try {
    throw;
  } catch (const RunStopped&) {
    is_own = false;
  } catch (...) {
  }
  const bool is_first = error_ == nullptr || (is_own && !is_own_);
  if (is_first || (is_own && sequence > sequence_)) {
    error_ = std::current_exception();
    sequence_ = sequence;
    is_own_ = is_own;
  }
}

void LaneError::rethrow() {
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace ebb::autograd
