// python/src/base/python_error.h -- a Python exception on its way through C++, with its traceback.
//
// ErrorSet (py.h) only says that the thread's error indicator is set, which does for code that
// keeps the GIL. An exception out of a hook crosses a run that holds no GIL, adds notes, and may
// change threads: so it travels as an object.
#pragma once

#include <memory>

#include "ebb/autograd/hooks/foreign_error.h"
#include "python/src/base/py.h"

namespace ebb::python {

class PythonError final : public autograd::ForeignError {
 public:
  /// Takes the exception that is set on this thread. Call with the GIL.
  static PythonError take();
  /// Sets it again. Call with the GIL.
  void restore() const;
  void add_note(const std::string& text) noexcept override;

 private:
  struct Exception;
  explicit PythonError(std::shared_ptr<Exception> exception) : exception_(std::move(exception)) {}
  std::shared_ptr<Exception> exception_;
};

/// Calls `body` with the GIL held, from a thread that runs a graph. An error that it leaves set
/// becomes a PythonError.
template <typename Body>
void call_python(Body&& body) {
  const AcquireGil gil;
  try {
    body();
  } catch (const ErrorSet&) {
    throw PythonError::take();
  }
}

}  // namespace ebb::python
