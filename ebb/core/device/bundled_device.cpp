// ebb/core/device/bundled_device.cpp -- finds the libraries beside this one, and lists the settings
// that they read.
#include "ebb/core/device/bundled_device.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"
#include "ebb/core/base/log.h"
#include "ebb/core/device/device_plugin.h"

namespace ebb::detail {
namespace {

constexpr std::string_view kOpencl = "opencl";
constexpr std::string_view kCuda = "cuda";

// Here and not in the libraries: the environment is checked against the list before they are
// loaded.
const FlagEntry devices_entry({
    .name = "opencl_devices",
    .type = FlagType::text,
    .fallback = "all",
    .doc = "Which OpenCL devices are used: numbers, each perhaps with '/parts'; empty for all.",
});
const FlagEntry cache_entry({
    .name = "kernel_cache",
    .type = FlagType::text,
    .fallback = "~/.cache/ebb/kernels",
    .doc = "The folder that keeps compiled kernels of devices; 0 for none.",
});
const FlagEntry sync_entry({
    .name = "device_sync",
    .type = FlagType::boolean,
    .fallback = "false",
    .doc = "Whether each call of a device waits until its work is done.",
});
const FlagEntry cuda_entry({
    .name = "cuda_library",
    .type = FlagType::text,
    .fallback = "libcuda.so.1",
    .doc = "The library of CUDA's driver; empty for that of the system.",
});
const FlagEntry nvrtc_entry({
    .name = "nvrtc_library",
    .type = FlagType::text,
    .fallback = "libnvrtc.so",
    .doc = "The library that compiles kernels for CUDA; empty for the first one found.",
});

const FlagEntry cublas_entry({
    .name = "cublas_library",
    .type = FlagType::text,
    .fallback = "libcublas.so",
    .doc = "The library of matrix products for CUDA; empty for the first one found, 0 for none.",
});

const FlagEntry cudnn_entry({
    .name = "cudnn_library",
    .type = FlagType::text,
    .fallback = "libcudnn.so",
    .doc = "The library of convolutions for CUDA; empty for the first one found, 0 for none.",
});

/// The folder of the library, or program, that this code is part of.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&load_bundled_plugin), &info) == 0) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool is_registered(std::string_view name) {
  for (int type = 0; type < kDeviceTypeCount; ++type) {
    const DevicePlugin* const plugin = find_plugin(static_cast<DeviceType>(type));
    if (plugin != nullptr && name == plugin->name) return true;
  }
  return false;
}

/// Whether this machine can have a device of CUDA at all.
bool has_cuda_driver() {
  static const bool is_found = [] {
    std::string path(flag_in_environment("cuda_library"));
    if (path.empty()) path = "libcuda.so.1";
    return dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
  }();
  return is_found;
}

/// What is said where the library of a plug-in is not beside this one: it is a wheel of its own.
std::string missing_text(std::string_view name, const std::string& path) {
  return str("needs the plug-in of ebb-", name, ", got no file ", path);
}

/// A driver that cannot start, such as one that was updated under the running kernel, does not
/// start at the next try either.
void try_cuda(const std::string& path) {
  std::string failure;
  // No std::call_once(): see ebb/kernels/cpu/simd/register.cpp.
  [[maybe_unused]] static const bool is_tried = [&] {
    try {
      load_device_plugin(path);
    } catch (const Error& error) {
      failure = error.what();
      note_missing_cuda(failure);
    }
    return true;
  }();
  if (!failure.empty()) warn(str("device: there is none of CUDA, ", failure));
}

}  // namespace

void load_bundled_plugin(std::string_view name) {
  if ((name != kOpencl && name != kCuda) || is_registered(name)) return;
  const std::string path = str(own_folder(), "/libebb_", name, ".so");
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (name == kCuda) {
    // Programs name it to ask whether it is there, and another plug-in may bear the name.
    if (!has_cuda_driver()) return;
    if (is_there) try_cuda(path);
    [[maybe_unused]] static const bool is_noted = is_there || [&] {
      note_missing_cuda(missing_text(name, path) + " (pip install ebb-cuda)");
      return true;
    }();
    return;
  }
  if (!is_there) {
    throw ValueError(str("device: '", name, "' ", missing_text(name, path),
                         "\nhint: pip install ebb-opencl, or build ebb with -DEBB_OPENCL=ON"));
  }
  load_device_plugin(path);
}

}  // namespace ebb::detail
