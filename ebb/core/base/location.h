// ebb/core/base/location.h -- where in the user's program something happened, as a 32-bit id.
//
// Recording stores an id only. In C++ it stands for the return address of the op's entry point, in
// Python for a code object and an instruction in it; both are turned into file and line when
// somebody asks. Id 0 means unknown.
//
// An id may also stand for a whole stack: a place and the stack of ids that called it. Whoever asks
// such an id for its place gets the innermost one. Anomaly mode records those.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ebb/core/base/export.h"
#include "ebb/core/base/thread_state.h"

namespace ebb {

using LocationId = uint32_t;

/// A place in a program, for people. `line` is 0 if unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;
};

/// "train.py:12 in step", or "an unknown place".
EBB_API std::string to_string(const SourceLocation& location);
EBB_API SourceLocation describe_location(LocationId id);
/// The same of an id, for messages.
EBB_API std::string line_of(LocationId id);
/// The places of a stack, innermost first; of any other known id its one place.
EBB_API std::vector<SourceLocation> describe_stack(LocationId id);
/// The innermost of these return addresses that is not in ebb's own code.
EBB_API SourceLocation describe_caller(std::span<void* const> frames);
/// "train.py:12 in step", and below it a line for each caller that the id knows of.
EBB_API std::string explain_location(LocationId id);

/// A front end that knows better than return addresses, such as the Python package.
struct LocationProvider {
  /// The id of the place now running on this thread, or 0 if this front end has no part in it.
  LocationId (*current)() noexcept = nullptr;
  SourceLocation (*describe)(uintptr_t first, uintptr_t second) = nullptr;
  /// Appends the ids of the places now running on this thread, innermost first.
  void (*append_stack)(std::vector<LocationId>& places) = nullptr;
};
EBB_API void set_location_provider(const LocationProvider& provider);

/// The id of a pair of words; equal pairs share it. `from_provider` says who can describe it.
EBB_API LocationId intern_location(uintptr_t first, uintptr_t second, bool from_provider) noexcept;
/// The id of a place that was called from the stack `callers`, 0 for nobody.
EBB_API LocationId intern_stack(LocationId place, LocationId callers) noexcept;
/// The id of all that is now running on this thread; of the return address if no front end knows.
EBB_API LocationId current_stack(void* return_address) noexcept;

namespace detail {
extern EBB_API LocationProvider location_provider;
/// The id of a return address.
EBB_API LocationId intern_return_address(void* address) noexcept;
}  // namespace detail

/// The id for an op that was entered from `return_address`.
inline LocationId current_location(void* return_address) noexcept {
  if (thread_state.location != 0) return thread_state.location;
  if (detail::location_provider.current != nullptr) {
    const LocationId id = detail::location_provider.current();
    if (id != 0) return id;
  }
  return detail::intern_return_address(return_address);
}

/// Makes everything recorded in a scope carry one location.
class LocationScope {
 public:
  explicit LocationScope(LocationId id) : saved_(thread_state.location) {
    thread_state.location = id;
  }
  ~LocationScope() { thread_state.location = saved_; }
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

 private:
  LocationId saved_;
};

}  // namespace ebb
