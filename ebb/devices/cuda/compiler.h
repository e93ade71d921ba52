// ebb/devices/cuda/compiler.h -- NVRTC, found when the first kernel is compiled.
//
// EBB_NVRTC_LIBRARY names the file; else libnvrtc is looked for among the system's libraries and in
// the toolkit's usual folder. It needs no GPU.
#pragma once

#include <string>

namespace ebb::cuda {

/// What the compiler makes for a device.
struct Target {
  int major = 0;  // compute capability
  int minor = 0;
  bool may_fuse = false;  // whether a product and a sum may round once; else as on the CPU
};

/// What goes into the key of a program: the compiler's version, and what it is told.
std::string compiler_key(Target target);

/// The machine code of `source`; for a device newer than the compiler PTX, which the driver makes
/// code of. Warnings are logged, naming `op`. Throws Failure with what the compiler says.
std::string compile_program(const char* op, const std::string& source, Target target);

}  // namespace ebb::cuda
