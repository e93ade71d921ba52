// ebb/core/base/linalg_error.h -- the exception for matrices that a function cannot work on.
#pragma once

#include "ebb/core/base/error.h"

namespace ebb {

/// A matrix is singular, or not positive definite, or an iteration does not converge; names the
/// entry of the batch. Python's ebb.linalg.LinAlgError, a ValueError.
class EBB_API LinAlgError : public ValueError {
 public:
  explicit LinAlgError(const std::string& message);
  ~LinAlgError() override;
};

}  // namespace ebb
