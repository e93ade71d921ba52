// ebb/devices/launch/driver.h -- what a back end does for kernels: compile, launch, lend memory.
//
// Everything else of this room is written against Driver and knows neither OpenCL nor CUDA. A
// process may hold several back ends; each is a library of its own with its own copy of this room,
// so that driver() is the one of the library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ebb/core/device/device_plugin.h"
#include "ebb/devices/launch/base_device.h"
#include "ebb/devices/launch/traits.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::devices {

/// A compiled kernel of one device. Lives as long as the process.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
};

/// One argument of a kernel: the address of device memory, or bytes that are copied.
struct Argument {
  const void* data;  // the address itself, or where the bytes are during the call
  size_t bytes;      // 0: an address
};

/// How many groups of how many items run; `group_size` must be what the kernel was compiled for.
struct Grid {
  int64_t groups = 1;
  uint32_t group_size = 1;
};

struct Attention;    // attention.h
struct Convolution;  // convolution.h
struct Product;      // product.h

/// Implemented by each back end. All functions may be called by several threads at once; they throw
/// DeviceError, naming the op, the device and the call that failed.
class Driver {
 public:
  /// `type` is what ebb calls these devices in messages.
  explicit Driver(DeviceType type) : type_(type) {}
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  BaseDevice& device_at(int index) const { return *devices_[static_cast<size_t>(index)]; }
  const Traits& traits(int device) const { return device_at(device).traits; }
  /// Compiles `source` (the prelude of the language comes before it) and returns the kernel named
  /// `entry`. From the cache on disk where it has it. Takes a lock and up to a second.
  std::unique_ptr<Kernel> compile(int device, const char* op, const std::string& source,
                                  const char* entry);
  /// Queues the kernel on the context's stream and returns.
  void launch(const kernels::Context& context, const char* op, Kernel& kernel, Grid grid,
              std::span<const Argument> arguments);
  /// Whether a library computes products of matrices, and takes this one.
  virtual bool has_products() const { return false; }
  virtual bool takes(const Product& /*product*/) const { return false; }
  /// Queues a product that the library takes on the context's stream.
  void multiply(const kernels::Context& context, const char* op, const Product& product);
  /// Queues a convolution by a library and returns true, or does nothing and returns false where
  /// there is none that takes it.
  bool convolve(const kernels::Context& context, const char* op, const Convolution& convolution);
  /// The same for attention.
  bool attend(const kernels::Context& context, const char* op, const Attention& attention);
  /// Memory for the length of a few launches on the context's stream, aligned to 64 bytes.
  void* borrow(const kernels::Context& context, size_t bytes);
  void give_back(const kernels::Context& context, void* memory, size_t bytes) noexcept;

 protected:
  /// For the constructor: the next device.
  void add_device(BaseDevice& device) { devices_[count_++] = &device; }

 private:
  // What compile(), launch() and multiply() do; they throw Failure.
  virtual std::unique_ptr<Kernel> make_kernel(BaseDevice& device, const char* op,
                                              const std::string& source, const char* entry) = 0;
  virtual void queue_kernel(NativeStream stream, Kernel& kernel, Grid grid,
                            std::span<const Argument> arguments) = 0;

  virtual bool queue_convolution(NativeStream, const Convolution&) { return false; }
  virtual bool queue_attention(NativeStream, const Attention&) { return false; }
  virtual void queue_product(NativeStream stream, const Product& product);

  DeviceType type_;
  size_t count_ = 0;
  std::array<BaseDevice*, kMaxDevices> devices_{};
};

namespace detail {
// Set while the plug-in is loaded, before there is another thread.
extern Driver* current_driver;
extern bool is_asked_to_wait;
}  // namespace detail
/// The back end that this library is; set once, before any kernel runs.
inline Driver& driver() { return *detail::current_driver; }
void set_driver(Driver& driver);

/// Whether EBB_DEVICE_SYNC asks that each call waits until its work is done, so that an error is
/// that of the op that made it.
inline bool is_synchronous() { return detail::is_asked_to_wait; }

/// Memory between two kernels of one op: goes back in stream order at the end of the scope.
class Scratch {
 public:
  Scratch(const kernels::Context& context, size_t bytes)
      : context_(context), bytes_(bytes), data_(driver().borrow(context, bytes)) {}
  ~Scratch() { driver().give_back(context_, data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  kernels::Context context_;
  size_t bytes_;
  void* data_;
};

}  // namespace ebb::devices
