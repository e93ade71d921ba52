// ebb/core/error.cpp -- where an error was thrown, and the destructors that anchor each exception's
// type information here, so that it is one type in every shared object that catches it.
#include "ebb/core/error.h"

#include <execinfo.h>

#include <algorithm>

#include "ebb/core/location.h"

namespace ebb {

Error::Error(const std::string& message) : std::runtime_error(message), frames_{} {
  if (detail::location_provider.current != nullptr) return;
  backtrace(frames_.data(), static_cast<int>(frames_.size()) - 1);
}
Error::~Error() = default;

std::string Error::where() const {
  const auto end = std::find(frames_.begin(), frames_.end(), nullptr);
  return to_string(describe_caller({frames_.begin(), end}));
}

ShapeError::~ShapeError() = default;
ValueError::~ValueError() = default;
DTypeError::~DTypeError() = default;
IndexError::~IndexError() = default;
AutogradError::~AutogradError() = default;
NotImplementedError::~NotImplementedError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
IoError::~IoError() = default;
DeviceError::~DeviceError() = default;
NonFiniteError::~NonFiniteError() = default;
InternalError::~InternalError() = default;

}  // namespace ebb
