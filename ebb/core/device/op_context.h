// ebb/core/device/op_context.h -- in which module and on which streams an op was recorded, in 24
// bits.
//
// Nearly all ops are recorded on the default streams: then the number is that of the module's
// scope. For others the pair has a number of its own, with kHasStreams set.
#pragma once

#include <cstdint>

#include "ebb/core/base/scope.h"
#include "ebb/core/device/stream_set.h"

namespace ebb {

using OpContext = uint32_t;
inline constexpr OpContext kHasStreams = kMaxScope + 1;

namespace detail {
struct ContextParts {
  ScopeId scope = 0;
  StreamSet streams = 0;
};
/// Throws OutOfMemoryError if there are no numbers left.
EBB_API OpContext intern_context(ContextParts parts);
EBB_API ContextParts parts_of_context(OpContext context);
}  // namespace detail

/// That of an op recorded now.
inline OpContext current_op_context() {
  const StreamSet streams = current_streams();
  if (streams != 0) [[unlikely]]
    return detail::intern_context({thread_state.scope, streams});
  return thread_state.scope;
}
inline ScopeId scope_of(OpContext context) {
  return (context & kHasStreams) == 0 ? context : detail::parts_of_context(context).scope;
}
inline StreamSet streams_of(OpContext context) {
  return (context & kHasStreams) == 0 ? 0 : detail::parts_of_context(context).streams;
}

}  // namespace ebb
