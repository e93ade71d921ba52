// ebb/kernels/index_watch.cpp -- the kernels, one per backend.
#include "ebb/kernels/index_watch.h"

namespace ebb::kernels {

IndexWatch& index_watch(Backend backend) {
  static IndexWatch watches[kBackendCount];
  return watches[static_cast<int>(backend)];
}

RangeWatch& range_watch(Backend backend) {
  static RangeWatch watches[kBackendCount];
  return watches[static_cast<int>(backend)];
}

}  // namespace ebb::kernels
