// python/src/base/location.h -- tells ebb which Python line is running (see
// ebb/core/base/location.h).
#pragma once

#include "python/src/base/py.h"

namespace ebb::python {

/// Makes Python the provider of locations. Frames whose file lies in `package_dir` are skipped, so
/// that an op inside ebb.nn is put down to the user's line. Throws ErrorSet.
void install_location_provider(const char* package_dir);

/// A tuple of file, line and function. Throws ErrorSet.
PyObject* location_object(const SourceLocation& place);

/// Whether the innermost Python frame is one of the package: what it calls, no user calls.
bool called_from_package();

/// The stack level of warnings that puts one down to the innermost line outside of the package.
int stack_level_of_user();

/// Whether frames are read directly (CPython 3.11) rather than through the public API.
bool reads_frames_directly();

}  // namespace ebb::python
