// ebb/testing/gradcheck_options.cpp -- see gradcheck_options.h.
#include "ebb/testing/gradcheck_options.h"

namespace ebb::testing {

GradcheckError::GradcheckError(const std::string& message) : AutogradError(message) {}
GradcheckError::~GradcheckError() = default;

}  // namespace ebb::testing
