// ebb/graph/times.h -- what a profile says of the nodes of a snapshot.
#pragma once

#include "ebb/core/runtime/profile.h"
#include "ebb/graph/snapshot.h"

namespace ebb::graph {

/// Fills in `snapshot.times` by sequence number: that of a recorded op, and of the node that ran,
/// is the same, whether the snapshot was taken before or after the run. The times of all runs are
/// added up. Leaves have no number, and no times. What was there before is replaced.
EBB_API void add_times(Snapshot& snapshot, const ProfileReport& profile);

}  // namespace ebb::graph
