// ebb/autograd/hooks/foreign_error.h -- exceptions of a front end that pass through a run unharmed.
#pragma once

#include <exception>
#include <string>

#include "ebb/core/base/export.h"

namespace ebb::autograd {

/// Base of exceptions that carry another language's exception. A run adds what it knows (the
/// forward line of the node) and lets them pass.
class EBB_API ForeignError : public std::exception {
 public:
  /// Adds a line to what is shown with the exception. Must not throw.
  virtual void add_note(const std::string& text) noexcept = 0;
  const char* what() const noexcept override { return "an exception of the front end"; }
};

/// Rethrows the exception being handled with `text` added; a kind that cannot carry it is rethrown
/// as it is.
[[noreturn]] EBB_API void rethrow_with(const std::string& text);

}  // namespace ebb::autograd
