// ebb/core/device/stream_set.h -- all current streams of a thread as one number.
//
// A recorded op notes on which streams it ran, so that backward runs it there again. It would cost
// too much to note a stream per device; one number of a set costs an instruction.
#pragma once

#include <cstdint>
#include <span>

#include "ebb/core/base/export.h"
#include "ebb/core/base/thread_state.h"
#include "ebb/core/device/device.h"

namespace ebb {

/// A set of streams, at most one a device; devices without one take their default stream. 0 is the
/// empty set. A number stays good for as long as the process runs.
using StreamSet = uint32_t;

/// What this thread set with set_current_stream(), and set_current_streams().
inline StreamSet current_streams() { return thread_state.streams; }
inline void set_current_streams(StreamSet set) { thread_state.streams = set; }

/// The stream that the set has for a device.
EBB_API Stream stream_in(StreamSet set, Device device);
/// Those streams of the set that are no default ones.
EBB_API std::span<const Stream> streams_in(StreamSet set);

/// Makes the streams of a set current for the length of a scope, on this thread.
class StreamSetScope {
 public:
  explicit StreamSetScope(StreamSet set) : saved_(current_streams()) { set_current_streams(set); }
  ~StreamSetScope() { set_current_streams(saved_); }
  StreamSetScope(const StreamSetScope&) = delete;
  StreamSetScope& operator=(const StreamSetScope&) = delete;

 private:
  StreamSet saved_;
};

}  // namespace ebb
