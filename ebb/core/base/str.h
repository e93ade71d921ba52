// ebb/core/base/str.h -- str(), which builds messages.
#pragma once

#include <sstream>
#include <string>
#include <utility>

namespace ebb {

/// Joins its arguments with operator<<, in order: str("got ", 3) == "got 3".
template <typename... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace ebb
