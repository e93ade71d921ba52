// ebb/core/base/error.cpp -- where an error was thrown, and what anchors each exception's type
// information here, so that it is one type in every shared object that catches it.
#include "ebb/core/base/error.h"

#include <execinfo.h>

#include <algorithm>

#include "ebb/core/base/call_name.h"
#include "ebb/core/base/location.h"

namespace ebb {
namespace {

/// what() is a C string: it would end at a NUL in a text of the user's.
std::string without_nul(std::string message) {
  for (size_t at = 0; (at = message.find('\0', at)) != std::string::npos; at += 2) {
    message.replace(at, 1, "\\0");
  }
  return message;
}

}  // namespace

Error::Error(const std::string& message) : std::runtime_error(without_nul(message)), frames_{} {
  if (detail::location_provider.current != nullptr) return;
  backtrace(frames_.data(), static_cast<int>(frames_.size()) - 1);
}
Error::~Error() = default;

std::string Error::where() const {
  const auto end = std::find(frames_.begin(), frames_.end(), nullptr);
  return to_string(describe_caller({frames_.begin(), end}));
}

// One about NaN names the op that made it, whoever called that.
NonFiniteError::NonFiniteError(const std::string& message) : Error(message) {}
NonFiniteError::~NonFiniteError() = default;

#define EBB_ANCHOR_ERROR(Name, inner)                                        \
  Name::Name(const std::string& message)                                     \
      : Error(detail::text_for_caller(message, detail::InnerName::inner)) {} \
  Name::~Name() = default

EBB_ANCHOR_ERROR(ShapeError, replaced);
EBB_ANCHOR_ERROR(ValueError, replaced);
EBB_ANCHOR_ERROR(DTypeError, replaced);
EBB_ANCHOR_ERROR(IndexError, replaced);
EBB_ANCHOR_ERROR(AutogradError, replaced);
EBB_ANCHOR_ERROR(NotImplementedError, kept);
EBB_ANCHOR_ERROR(OutOfMemoryError, kept);
EBB_ANCHOR_ERROR(IoError, kept);
EBB_ANCHOR_ERROR(DeviceError, kept);
EBB_ANCHOR_ERROR(InternalError, kept);

}  // namespace ebb
