// ebb/autograd/engine/lane_error.h -- which of the errors of several threads a run throws.
#pragma once

#include <cstdint>
#include <exception>

namespace ebb::autograd {

/// Keeps one of several exceptions: that of the node which one thread would have run first. One
/// that only says that others failed (RunStopped) counts least. Not safe by itself: call under a
/// lock.
class LaneError {
 public:
  /// Notes the current exception, thrown at a node of that number.
  void note(uint64_t sequence) noexcept;
  bool any() const { return error_ != nullptr; }
  /// Throws what was kept, if anything was.
  void rethrow();

 private:
  std::exception_ptr error_;
  uint64_t sequence_ = 0;
  bool is_own_ = false;
};

}  // namespace ebb::autograd
