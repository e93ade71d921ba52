// ebb/core/base/error.h -- the exceptions that ebb throws; str() builds their messages.
//
// A message reads `op: what it needs, got what it got`, and may end with one `hint:` line. The type
// picks the Python class (see the table in docs/errors.md). Users' mistakes throw one of these;
// only a bug of ebb itself throws InternalError.
#pragma once

#include <array>
#include <stdexcept>
#include <string>

#include "ebb/core/base/export.h"
#include "ebb/core/base/str.h"

namespace ebb {

/// Base of every exception that ebb throws.
class EBB_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message);
  ~Error() override;

  /// The line of the program whose call into ebb threw this, such as "step.cpp:12 in train": as far
  /// as debug information and `addr2line` tell, else "an unknown place". Under a front end that has
  /// tracebacks of its own, such as Python, it is unknown. Takes milliseconds.
  std::string where() const;

 private:
  std::array<void*, 32> frames_;  // return addresses, innermost first, up to a null
};

/// Defines one error class per line; each is a distinct type with nothing of its own.
// The constructors are not inlined: addr2line does not see through all that Clang inlines, and
// where() could not tell who made the error.
#define EBB_DEFINE_ERROR(Name)                 \
  class EBB_API Name : public Error {          \
   public:                                     \
    explicit Name(const std::string& message); \
    ~Name() override;                          \
  }

EBB_DEFINE_ERROR(ShapeError);     // shapes that do not fit; Python ValueError
EBB_DEFINE_ERROR(ValueError);     // any other bad value; Python ValueError
EBB_DEFINE_ERROR(DTypeError);     // dtypes and kinds of argument; Python TypeError
EBB_DEFINE_ERROR(IndexError);     // out of range; Python IndexError
EBB_DEFINE_ERROR(AutogradError);  // history, versions, freed graphs; Python RuntimeError
EBB_DEFINE_ERROR(
    NonFiniteError);  // NaN or infinity, where it is checked for; Python FloatingPointError
EBB_DEFINE_ERROR(NotImplementedError);  // missing kernel or derivative
EBB_DEFINE_ERROR(OutOfMemoryError);     // allocation failed; Python MemoryError
EBB_DEFINE_ERROR(IoError);              // files; Python OSError
EBB_DEFINE_ERROR(DeviceError);          // a call that a device's plug-in failed; RuntimeError
EBB_DEFINE_ERROR(InternalError);        // a bug of ebb; Python RuntimeError
#undef EBB_DEFINE_ERROR

}  // namespace ebb
