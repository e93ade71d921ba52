// ebb/devices/opencl/api.h -- OpenCL's own header, its error codes as text, and owners of objects.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <string>
#include <type_traits>
#include <utility>

#include "ebb/devices/launch/failure.h"

namespace ebb::opencl {

using devices::Failure;

/// "CL_OUT_OF_RESOURCES", or the number.
std::string name_of_status(cl_int status);

[[noreturn]] void throw_status(cl_int status, const char* call);
/// Throws Failure, naming the call, unless the status is that of success.
inline void check(cl_int status, const char* call) {
  if (status != CL_SUCCESS) [[unlikely]]
    throw_status(status, call);
}

/// Owns one reference to an object of OpenCL.
template <typename Handle, cl_int (*release)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  void reset(Handle handle = nullptr) {
    if (handle_ != nullptr) release(handle_);
    handle_ = handle;
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using OwnedProgram = Owned<cl_program, clReleaseProgram>;
using OwnedKernel = Owned<cl_kernel, clReleaseKernel>;
using OwnedBuffer = Owned<cl_mem, clReleaseMemObject>;
using OwnedEvent = Owned<cl_event, clReleaseEvent>;

}  // namespace ebb::opencl
