// ebb/devices/opencl/device.cpp -- finding devices, and choosing among them.
#include "ebb/devices/opencl/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include "ebb/core/base/flags.h"
#include "ebb/core/base/log.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/base/str.h"
#include "ebb/devices/launch/fork.h"

namespace ebb::opencl {
namespace {

/// A device as a platform has it, or one of its parts.
struct Found {
  cl_platform_id platform;
  cl_device_id id;
};

template <typename Value>
Value info(cl_device_id device, cl_device_info what) {
  Value value{};
  check(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}
std::string text_info(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  check(clGetDeviceInfo(device, what, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, 0);
  check(clGetDeviceInfo(device, what, size, text.data(), nullptr), "clGetDeviceInfo");
  while (!text.empty() && text.back() == 0) text.pop_back();
  return text;
}

std::vector<Found> find_all() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<Found> all;
  for (const cl_platform_id platform : platforms) {
    cl_uint here = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &here) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(here);
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, here, ids.data(), nullptr),
          "clGetDeviceIDs");
    for (const cl_device_id id : ids) all.push_back({platform, id});
  }
  return all;
}

[[noreturn]] void refuse_choice(std::string_view text, size_t count) {
  throw Failure(str("EBB_OPENCL_DEVICES: needs numbers from 0 to ", count - 1,
                    " separated by ',', each with '/parts' if it is to be cut, got ",
                    in_quotes(std::string(text))));
}

/// Cuts a device into `parts` of as many units each.
std::vector<Found> cut(const Found& whole, cl_uint parts) {
  const auto units = info<cl_uint>(whole.id, CL_DEVICE_MAX_COMPUTE_UNITS);
  const cl_device_partition_property each[] = {
      CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(units / parts), 0};
  std::vector<cl_device_id> ids(parts);
  check(clCreateSubDevices(whole.id, each, parts, ids.data(), nullptr), "clCreateSubDevices");
  std::vector<Found> found;
  for (const cl_device_id id : ids) found.push_back({whole.platform, id});
  return found;
}

/// Reads one entry of the list: "2" or "0/2".
std::vector<Found> chosen(std::string_view entry, const std::vector<Found>& all) {
  size_t index = 0;
  cl_uint parts = 1;
  const char* const end = entry.data() + entry.size();
  auto [rest, status] = std::from_chars(entry.data(), end, index);
  bool is_good = status == std::errc{} && index < all.size();
  if (is_good && rest != end) {
    const auto [last, fault] = std::from_chars(rest + 1, end, parts);
    is_good = *rest == '/' && fault == std::errc{} && last == end && parts > 0 &&
              parts <= info<cl_uint>(all[index].id, CL_DEVICE_MAX_COMPUTE_UNITS);
  }
  if (!is_good) refuse_choice(entry, all.size());
  return parts == 1 ? std::vector{all[index]} : cut(all[index], parts);
}

std::vector<Found> choose(const std::vector<Found>& all) {
  const std::string_view text = flag_in_environment("opencl_devices");
  if (text.empty() || all.empty()) return all;
  std::vector<Found> found;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    for (const Found& one : chosen(text.substr(at, comma - at), all)) found.push_back(one);
    at = comma + 1;
  }
  return found;
}

bool shares_memory(cl_device_id id) {
  cl_device_svm_capabilities capabilities = 0;
  const cl_int status =
      clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof capabilities, &capabilities, nullptr);
  return status == CL_SUCCESS && (capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
}

devices::Traits traits_of(cl_device_id id) {
  devices::Traits traits;
  traits.has_float64 = info<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  traits.is_cpu = (info<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  traits.units = info<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  const auto width = info<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  traits.lanes = width >= 16 ? 16 : width >= 8 ? 8 : 4;
  const auto most = static_cast<uint32_t>(info<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  traits.group_size = std::min<uint32_t>(most, traits.is_cpu ? 1024 : 256);
  return traits;
}

/// Asks for large pages for a block in the memory of the host: a copy of a transposed matrix goes
/// to another page for each element. Advice only.
void advise_large_pages(void* memory, size_t bytes) {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) & ~(kPage - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(kPage - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

devices::MemorySource source_of(OpenclDevice& device) {
  constexpr cl_uint kAlignment = 128;
  const cl_context context = device.context;
  const bool is_cpu = device.traits.is_cpu;
  return {.call = "clSVMAlloc",
          .total_bytes = device.total_bytes,
          .allocate =
              [context, is_cpu](size_t bytes) {
                void* const memory = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, kAlignment);
                if (is_cpu && memory != nullptr) advise_large_pages(memory, bytes);
                return memory;
              },
          .free = [context](void* memory) { clSVMFree(context, memory); },
          .finish = [&device] { finish(device); }};
}

devices::HostSource host_source_of(HostMemory& memory) {
  return {.allocate = [&memory](size_t bytes) { return memory.allocate(bytes); },
          .free = [&memory](void* address) { memory.free(address); }};
}

std::unique_ptr<OpenclDevice> make_device(const Found& found, cl_context context) {
  auto device = std::make_unique<OpenclDevice>();
  device->id = found.id;
  device->context = context;
  device->name =
      str(text_info(found.id, CL_DEVICE_NAME), " | ", text_info(found.id, CL_DEVICE_VERSION), " | ",
          text_info(found.id, CL_DRIVER_VERSION));
  device->traits = traits_of(found.id);
  device->units = static_cast<int>(device->traits.units);
  device->total_bytes = info<cl_ulong>(found.id, CL_DEVICE_GLOBAL_MEM_SIZE);
  device->memory = std::make_unique<devices::MemoryPool>(source_of(*device));
  device->host_memory = std::make_unique<HostMemory>(context, found.id);
  device->staging = std::make_unique<devices::StagingPool>(host_source_of(*device->host_memory));
  new_queue(*device);
  return device;
}

/// Nothing may still run when OpenCL's own objects go.
void finish_all() {
  if (devices::is_forked_child()) return;
  for (const auto& device : all_devices()) {
    for (const auto& queue : device->queues) clFinish(queue->handle);
  }
}

using Devices = std::vector<std::unique_ptr<OpenclDevice>>;

Devices* make_all() {
  auto* const devices = new Devices();  // streams live as long as the process
  std::map<cl_platform_id, std::vector<cl_device_id>> by_platform;
  std::vector<Found> usable;
  for (const Found& found : choose(find_all())) {
    if (!shares_memory(found.id)) {
      EBB_LOG_AT(LogPart::general, 1,
                 str("opencl: ", text_info(found.id, CL_DEVICE_NAME),
                     " is left out: it has no shared virtual memory"));
      continue;
    }
    usable.push_back(found);
    by_platform[found.platform].push_back(found.id);
  }
  std::map<cl_platform_id, cl_context> contexts;
  for (const auto& [platform, ids] : by_platform) {
    cl_int status = CL_SUCCESS;
    contexts[platform] = clCreateContext(nullptr, static_cast<cl_uint>(ids.size()), ids.data(),
                                         nullptr, nullptr, &status);
    check(status, "clCreateContext");
  }
  for (const Found& found : usable) {
    devices->push_back(make_device(found, contexts[found.platform]));
  }
  devices::watch_forks("OpenCL");
  return devices;
}

}  // namespace

const Devices& all_devices() {
  static const Devices* const devices = [] {
    const Devices* const made = make_all();
    std::atexit(finish_all);
    return made;
  }();
  return *devices;
}

OpenclDevice& device_at(int index) { return *all_devices()[static_cast<size_t>(index)]; }

Queue& new_queue(OpenclDevice& device) {
  auto queue = std::make_unique<Queue>();
  cl_int status = CL_SUCCESS;
  queue->device = &device;
  queue->handle = clCreateCommandQueueWithProperties(device.context, device.id, nullptr, &status);
  check(status, "clCreateCommandQueueWithProperties");
  const std::lock_guard lock(device.mutex);
  device.queues.push_back(std::move(queue));
  return *device.queues.back();
}

void finish(OpenclDevice& device) {
  std::vector<cl_command_queue> queues;
  {
    const std::lock_guard lock(device.mutex);
    for (const auto& queue : device.queues) queues.push_back(queue->handle);
  }
  for (const cl_command_queue queue : queues) check(clFinish(queue), "clFinish");
}

}  // namespace ebb::opencl
