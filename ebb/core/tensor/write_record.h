// ebb/core/tensor/write_record.h -- one in-place write of a storage.
#pragma once

#include <cstdint>

#include "ebb/core/base/location.h"

namespace ebb {

/// One in-place write: which op made it, and where.
struct WriteRecord {
  uint32_t version = 0;  // of the storage after the write
  LocationId location = 0;
  const char* op = nullptr;  // null if the log does not tell
};

}  // namespace ebb
