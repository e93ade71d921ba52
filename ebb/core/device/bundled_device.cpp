// ebb/core/device/bundled_device.cpp -- finds the libraries beside this one, and lists the settings
// that they read.
#include "ebb/core/device/bundled_device.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"
#include "ebb/core/device/device_plugin.h"

namespace ebb::detail {
namespace {

constexpr std::string_view kOpencl = "opencl";

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

}  // namespace

void load_bundled_plugin(std::string_view name) {
  if (name != kOpencl || is_registered(name)) return;
  const std::string path = str(own_folder(), "/libebb_", name, ".so");
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw ValueError(str("device: '", name, "' needs its plug-in, got no file ", path,
                         "\nhint: build ebb with -DEBB_OPENCL=ON, which needs the OpenCL headers"));
  }
  load_device_plugin(path);
}

}  // namespace ebb::detail
