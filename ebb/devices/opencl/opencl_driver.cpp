// ebb/devices/opencl/opencl_driver.cpp -- programs from source or from disk, and their launches.
#include "ebb/devices/opencl/opencl_driver.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "ebb/core/base/small_mutex.h"
#include "ebb/core/base/str.h"
#include "ebb/devices/launch/disk_cache.h"
#include "ebb/devices/launch/source.h"
#include "ebb/devices/opencl/device.h"

namespace ebb::opencl {
namespace {

/// Sets the arguments of a kernel. They stay from launch to launch: what is set already needs no
/// call.
class SetArguments {
 public:
  void set(cl_kernel kernel, std::span<const devices::Argument> arguments) {
    const size_t kept = std::min(arguments.size(), kMost);
    const Value* own = set_;
    for (const devices::Argument& argument : arguments.first(kept)) {
      if (!own->is(argument)) set_anew(kernel, static_cast<size_t>(own - set_), argument);
      ++own;
    }
    for (size_t index = kept; index < arguments.size(); ++index) {
      set_anew(kernel, index, arguments[index]);
    }
  }

 private:
  static constexpr size_t kMost = 16;
  static constexpr size_t kUnknown = ~size_t{0};
  /// An address, or a number; of what is longer nothing is known.
  struct Value {
    size_t bytes = kUnknown;
    uint64_t bits = 0;

    bool is(const devices::Argument& argument) const {
      if (bytes != argument.bytes) return false;
      if (bytes == 0) return bits == reinterpret_cast<uintptr_t>(argument.data);
      if (bytes != sizeof(uint32_t)) return std::memcmp(&bits, argument.data, bytes) == 0;
      uint32_t wanted;  // nearly always: one load
      std::memcpy(&wanted, argument.data, sizeof wanted);
      return static_cast<uint32_t>(bits) == wanted;
    }
  };

  static Value value_of(const devices::Argument& argument) {
    if (argument.bytes == 0) return {0, reinterpret_cast<uintptr_t>(argument.data)};
    Value value;
    if (argument.bytes > sizeof value.bits) return value;
    value.bytes = argument.bytes;
    std::memcpy(&value.bits, argument.data, argument.bytes);
    return value;
  }
  [[gnu::noinline]] void set_anew(cl_kernel kernel, size_t index,
                                  const devices::Argument& argument) {
    if (index < kMost) set_[index] = {};  // until the call has gone well
    set_one(kernel, static_cast<cl_uint>(index), argument);
    if (index < kMost) set_[index] = value_of(argument);
  }
  static void set_one(cl_kernel kernel, cl_uint index, const devices::Argument& argument) {
    if (argument.bytes == 0) {
      check(clSetKernelArgSVMPointer(kernel, index, argument.data), "clSetKernelArgSVMPointer");
    } else {
      check(clSetKernelArg(kernel, index, argument.bytes, argument.data), "clSetKernelArg");
    }
  }

  Value set_[kMost];
};

/// Setting arguments and queueing are two calls on one object, which threads must not mix.
class OpenclKernel final : public devices::Kernel {
 public:
  OpenclKernel(OwnedProgram program, OwnedKernel kernel)
      : program_(std::move(program)), kernel_(std::move(kernel)) {}
  cl_kernel handle() const { return kernel_.get(); }
  SmallMutex& mutex() { return mutex_; }
  /// With the lock held.
  void set_arguments(std::span<const devices::Argument> arguments) {
    arguments_.set(handle(), arguments);
  }

 private:
  OwnedProgram program_;
  OwnedKernel kernel_;
  SmallMutex mutex_;
  SetArguments arguments_;
};

constexpr const char* kOptions = "-cl-std=CL1.2";

std::string build_log(cl_program program, cl_device_id id) {
  size_t size = 0;
  clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string text(size, 0);
  clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, text.data(), nullptr);
  constexpr size_t kMost = 2000;
  return text.substr(0, kMost);
}

/// The program of the binary; nothing if the driver refuses it.
std::optional<OwnedProgram> from_binary(const OpenclDevice& device, const std::string& binary) {
  const size_t size = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int of_binary = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  OwnedProgram program(
      clCreateProgramWithBinary(device.context, 1, &device.id, &size, &bytes, &of_binary, &status));
  if (status != CL_SUCCESS || of_binary != CL_SUCCESS) return std::nullopt;
  status = clBuildProgram(program.get(), 1, &device.id, kOptions, nullptr, nullptr);
  if (status != CL_SUCCESS) return std::nullopt;
  return program;
}

OwnedProgram from_source(const OpenclDevice& device, const std::string& source) {
  const char* text = source.c_str();
  cl_int status = CL_SUCCESS;
  OwnedProgram program(clCreateProgramWithSource(device.context, 1, &text, nullptr, &status));
  check(status, "clCreateProgramWithSource");
  status = clBuildProgram(program.get(), 1, &device.id, kOptions, nullptr, nullptr);
  if (status != CL_SUCCESS) {
    throw Failure(
        str("clBuildProgram: ", name_of_status(status), '\n', build_log(program.get(), device.id)));
  }
  return program;
}

/// What goes to disk; empty if the driver gives nothing.
std::string binary_for(cl_program program, cl_device_id id) {
  cl_uint count = 0;
  clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<cl_device_id> ids(count);
  std::vector<size_t> sizes(count);
  clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof ids[0], ids.data(), nullptr);
  clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof sizes[0], sizes.data(),
                   nullptr);
  std::vector<std::string> binaries;  // of all devices of the context: PoCL writes each
  for (const size_t size : sizes) binaries.emplace_back(size, 0);
  std::vector<char*> places;
  for (std::string& one : binaries) places.push_back(one.data());
  const cl_int status = clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof places[0],
                                         places.data(), nullptr);
  const auto at = static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
  return status == CL_SUCCESS && at < count ? binaries[at] : std::string();
}

OwnedProgram program_for(const OpenclDevice& device, const std::string& source) {
  // A binary is not asked for in vain: PoCL compiles the program once more for it.
  if (!devices::keeps_programs()) return from_source(device, source);
  const std::string key = str(device.name, '\n', kOptions, '\n', source);
  if (const std::optional<std::string> binary = devices::load_program(key)) {
    if (std::optional<OwnedProgram> program = from_binary(device, *binary)) {
      return std::move(*program);
    }
    devices::drop_program(key);
  }
  OwnedProgram program = from_source(device, source);
  if (const std::string binary = binary_for(program.get(), device.id); !binary.empty()) {
    devices::store_program(key, binary);
  }
  return program;
}

}  // namespace

OpenclDriver::OpenclDriver(DeviceType type) : Driver(type) {
  for (const auto& device : all_devices()) add_device(*device);
}

std::unique_ptr<devices::Kernel> OpenclDriver::make_kernel(devices::BaseDevice& device,
                                                           const char* /*op*/,
                                                           const std::string& source,
                                                           const char* entry) {
  const auto& own = static_cast<OpenclDevice&>(device);
  const std::string head = own.traits.has_float64 ? "#define EBB_FLOAT64\n" : "";
  OwnedProgram program = program_for(own, head + std::string(devices::prelude_cl) + source);
  cl_int status = CL_SUCCESS;
  OwnedKernel kernel(clCreateKernel(program.get(), entry, &status));
  check(status, "clCreateKernel");
  return std::make_unique<OpenclKernel>(std::move(program), std::move(kernel));
}

void OpenclDriver::queue_kernel(NativeStream stream, devices::Kernel& kernel, devices::Grid grid,
                                std::span<const devices::Argument> arguments) {
  Queue& queue = queue_of(stream);
  auto& own = static_cast<OpenclKernel&>(kernel);
  const size_t local = grid.group_size;
  const size_t global = static_cast<size_t>(grid.groups) * local;
  const std::lock_guard lock(own.mutex());
  own.set_arguments(arguments);
  check(clEnqueueNDRangeKernel(queue.handle, own.handle(), 1, nullptr, &global, &local, 0, nullptr,
                               nullptr),
        "clEnqueueNDRangeKernel");
  queue.note_command();
  wait_if_asked(queue);
}

}  // namespace ebb::opencl
