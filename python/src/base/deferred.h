// python/src/base/deferred.h -- lets go of Python objects from threads that do not hold the GIL.
//
// C++ may drop what belongs to Python (an array under a storage, an object that a tensor owns) on
// any thread and under any lock of its own. Waiting for the GIL there could deadlock, since its
// holder may be waiting for that lock. So such work is put off until somebody with the GIL comes
// by.
#pragma once

namespace ebb::python {

/// Whether Python objects may still be touched from threads and destructors.
bool interpreter_is_alive() noexcept;

/// Calls `action(subject)` with the GIL: now if this thread holds it, else soon (when a large op or
/// backward() returns to Python, or when the main thread runs Python code).
void call_with_gil(void (*action)(void*), void* subject) noexcept;

/// Does what was put off. Call with the GIL held; costs one load if there is nothing.
void run_deferred() noexcept;

}  // namespace ebb::python
