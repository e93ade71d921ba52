// ebb/core/error.cpp -- the destructors that anchor each exception's type information here, so that
// it is one type in every shared object that catches it.
#include "ebb/core/error.h"

namespace ebb {

Error::~Error() = default;
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
