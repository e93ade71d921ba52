// ebb/core/base/linalg_error.cpp -- anchors the type of LinAlgError in this library.
#include "ebb/core/base/linalg_error.h"

namespace ebb {

LinAlgError::LinAlgError(const std::string& message) : ValueError(message) {}
LinAlgError::~LinAlgError() = default;

}  // namespace ebb
