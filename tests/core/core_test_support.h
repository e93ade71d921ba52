// tests/core/core_test_support.h -- what the tests of core share: reading the text of an error.
#pragma once

#include <exception>
#include <string>

#include "tests/sanitizers.h"

namespace ebb {

/// Whether blocks come straight from the C library, so that caches cannot be observed.
inline constexpr bool kCachesAreBypassed = kHasSanitizer;

/// The text of the `Expected` error that `call` throws; a note if it throws none or another.
template <typename Expected, typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another class of error: ") + error.what();
  }
  return "no error";
}

}  // namespace ebb
