// ebb/core/tensor/announced_write.h -- what is about to be written, for whoever guards its memory.
#pragma once

#include "ebb/core/base/export.h"

namespace ebb {
struct TensorImpl;
}

namespace ebb::detail {

/// The tensor whose write this thread announces while Storage::prepare_write() runs; null if any of
/// the memory may be written.
extern EBB_API thread_local const TensorImpl* announced_write;

/// Announces the write of one tensor for the length of a scope.
class AnnouncedWrite {
 public:
  explicit AnnouncedWrite(const TensorImpl* target) { announced_write = target; }
  ~AnnouncedWrite() { announced_write = nullptr; }
  AnnouncedWrite(const AnnouncedWrite&) = delete;
  AnnouncedWrite& operator=(const AnnouncedWrite&) = delete;
};

}  // namespace ebb::detail
