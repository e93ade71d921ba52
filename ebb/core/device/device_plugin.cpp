// ebb/core/device/device_plugin.cpp -- the registered plug-ins, and loading one from a file.
//
// A slot per device type, written once and never cleared: readers need no lock.
#include "ebb/core/device/device_plugin.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/device/device_extras.h"
#include "ebb/core/device/meta_type.h"

namespace ebb {

constinit std::atomic<int> detail::plugin_count{0};

namespace {

struct Slot {
  std::atomic<const DevicePlugin*> plugin{nullptr};
  int count = 0;  // written before `plugin`
};

constinit Slot slots[kDeviceTypeCount];
constinit std::atomic<const std::string*> missing_cuda{nullptr};  // lives as long as the process

std::mutex& registration() {
  static std::mutex mutex;
  return mutex;
}

Slot& slot_of(DeviceType type) { return slots[static_cast<int>(type)]; }

void check_abi(const DevicePlugin* plugin) {
  if (plugin == nullptr) {
    throw ValueError("register_device: needs a plug-in, got a null pointer");
  }
  if (plugin->abi_version != kDeviceAbiVersion) {
    throw ValueError(str("register_device: needs ABI version ", kDeviceAbiVersion, ", got ",
                         plugin->abi_version,
                         "\nhint: build the plug-in with the headers of this version"));
  }
  if (plugin->struct_size != sizeof(DevicePlugin)) {
    throw ValueError(str("register_device: needs a struct of ", sizeof(DevicePlugin),
                         " bytes, got ", plugin->struct_size,
                         "\nhint: build the plug-in with the headers of this version"));
  }
}

void check_name(const char* name) {
  constexpr size_t kLongest = 15;
  const std::string text = name == nullptr ? "" : std::string(name, strnlen(name, kLongest + 1));
  const bool is_good =
      !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  if (is_good && text != "cpu" && text != "pinned") return;
  throw ValueError(str("register_device: the name needs 1 to ", kLongest,
                       " lower-case letters, digits or '_' and must not be that of the host, got ",
                       in_quotes(text)));
}

void check_functions(const DevicePlugin& plugin) {
  const auto need = [&](auto* function, const char* name) {
    if (function != nullptr) return;
    throw ValueError(str("register_device: ", plugin.name, " needs the function ", name,
                         ", got a null pointer"));
  };
  need(plugin.device_count, "device_count");
  need(plugin.last_error, "last_error");
  need(plugin.allocate, "allocate");
  need(plugin.deallocate, "deallocate");
  need(plugin.copy_to_device, "copy_to_device");
  need(plugin.copy_to_host, "copy_to_host");
  need(plugin.copy_on_device, "copy_on_device");
  need(plugin.fill, "fill");
  need(plugin.default_stream, "default_stream");
  need(plugin.create_stream, "create_stream");
  need(plugin.synchronize_stream, "synchronize_stream");
  need(plugin.query_stream, "query_stream");
  need(plugin.create_event, "create_event");
  need(plugin.destroy_event, "destroy_event");
  need(plugin.record_event, "record_event");
  need(plugin.wait_event, "wait_event");
  need(plugin.query_event, "query_event");
  need(plugin.synchronize_event, "synchronize_event");
}

/// The type that a new plug-in of this name gets.
DeviceType free_type(const char* name) {
  for (const DeviceType type : {DeviceType::cuda, DeviceType::custom, DeviceType::second_custom}) {
    const DevicePlugin* const taken = slot_of(type).plugin;
    if (taken != nullptr && std::strcmp(taken->name, name) == 0) {
      throw ValueError(str("register_device: the name must be new, got ", in_quotes(name)));
    }
  }
  if (std::strcmp(name, "cuda") == 0) return DeviceType::cuda;
  for (const DeviceType type : {DeviceType::custom, DeviceType::second_custom}) {
    if (slot_of(type).plugin == nullptr) return type;
  }
  throw ValueError(str("register_device: at most 2 plug-ins beside cuda, got ", in_quotes(name),
                       " as one more"));
}

int checked_count(const DevicePlugin& plugin) {
  int count = 0;
  if (plugin.device_count(&count) != 0) {
    throw ValueError(
        str("register_device: ", plugin.name, " cannot count its devices: ", plugin.last_error()));
  }
  if (count < 0 || count > kMaxDevices) {
    throw ValueError(str("register_device: ", plugin.name, " needs 0 to ", kMaxDevices,
                         " devices, got ", count));
  }
  return count;
}

}  // namespace

DeviceType register_device(const DevicePlugin* plugin) {
  check_abi(plugin);
  check_name(plugin->name);
  check_functions(*plugin);
  const std::lock_guard lock(registration());
  const DeviceType type = free_type(plugin->name);
  slot_of(type).count = checked_count(*plugin);
  slot_of(type).plugin.store(plugin, std::memory_order_release);
  ++detail::plugin_count;
  return type;
}

/// The dynamic linker opens whatever has the name, and of a pipe waits for a writer. A name without
/// '/' is looked for in the system's folders.
static void refuse_irregular(const std::string& path) {
  struct stat status {};
  const bool is_path = path.find('/') != std::string::npos;
  if (!is_path || ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  throw IoError(str("load_device_plugin: needs a regular file, got ", in_quotes(path)));
}

DeviceType load_device_plugin(const std::string& path) {
  static std::mutex loading;
  static std::map<void*, DeviceType> loaded;  // by handle: dlopen() gives one per library
  const std::lock_guard lock(loading);
  refuse_irregular(path);
  // Never closed: the struct, kernels and streams live as long as the process.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    throw IoError(str("load_device_plugin: ", reason != nullptr ? reason : path.c_str()));
  }
  if (const auto known = loaded.find(library); known != loaded.end()) return known->second;
  const auto entry = reinterpret_cast<DevicePluginEntry>(dlsym(library, "ebb_device_plugin"));
  if (entry == nullptr) {
    throw ValueError(
        str("load_device_plugin: the library needs a function ebb_device_plugin, got ", path));
  }
  const DeviceType type = register_device(entry());
  loaded.emplace(library, type);
  const auto extras = reinterpret_cast<DeviceExtrasEntry>(dlsym(library, "ebb_device_extras"));
  if (extras != nullptr) detail::note_extras(type, extras());
  const auto ready = reinterpret_cast<DeviceLoadedEntry>(dlsym(library, "ebb_device_loaded"));
  if (ready != nullptr) ready(type);
  return type;
}

void detail::note_missing_cuda(std::string reason) {
  missing_cuda = new std::string(std::move(reason));
}

const DevicePlugin* find_plugin(DeviceType type) {
  return slot_of(type).plugin.load(std::memory_order_acquire);
}

/// What plugin_of() throws.
[[noreturn, gnu::noinline]] static void throw_missing(const char* op, Device device) {
  const DevicePlugin* const plugin = find_plugin(device.type);
  if (plugin == nullptr) {
    const std::string* const why = device.type == DeviceType::cuda ? missing_cuda.load() : nullptr;
    throw ValueError(
        str(op, ": needs a device that is there, got ", to_string(device),
            why == nullptr ? "" : ": " + *why,
            "\nhint: leave it on 'cpu', or load its plug-in with load_device_plugin()"));
  }
  throw ValueError(str(op, ": needs a device that is there, got ", to_string(device),
                       ", and there are ", slot_of(device.type).count, " of ", plugin->name));
}

const DevicePlugin& plugin_of(const char* op, Device device) {
  const Slot& slot = slot_of(device.type);
  const DevicePlugin* const plugin = slot.plugin.load(std::memory_order_acquire);
  const bool is_there = plugin != nullptr && device.index >= 0 && device.index < slot.count;
  if (!is_there) [[unlikely]]
    throw_missing(op, device);
  return *plugin;
}

int device_count(DeviceType type) {
  if (type == DeviceType::cpu) return 1;
  return find_plugin(type) != nullptr ? slot_of(type).count : 0;
}

std::vector<Device> all_devices() {
  std::vector<Device> devices;
  for (int type = 0; type < kDeviceTypeCount; ++type) {
    const auto kind = static_cast<DeviceType>(type);
    if (is_meta({kind})) continue;  // where nothing is
    for (int index = 0; index < device_count(kind); ++index) {
      devices.push_back({kind, static_cast<int8_t>(index)});
    }
  }
  return devices;
}

void throw_device_failure(const char* call, Device device) {
  const DevicePlugin* const plugin = find_plugin(device.type);
  const char* const reason = plugin != nullptr ? plugin->last_error() : "no plug-in";
  throw DeviceError(str(call, ": ", to_string(device), " failed: ", reason));
}

}  // namespace ebb
