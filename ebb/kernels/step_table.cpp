// ebb/kernels/step_table.cpp -- the tables, one per backend.
#include "ebb/kernels/step_table.h"

namespace ebb::kernels {

StepTable& step_table(Backend backend) {
  static StepTable tables[kBackendCount];
  return tables[static_cast<int>(backend)];
}

}  // namespace ebb::kernels
