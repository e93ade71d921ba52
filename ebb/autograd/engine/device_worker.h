// ebb/autograd/engine/device_worker.h -- a thread per device, which runs the device's nodes of all
// runs.
//
// A worker is started by the first job for its device and waits for more. A forked child forgets
// its parent's workers. Jobs are done in the rounding mode of the thread that made them, as all
// that other threads do for a caller. At the end of the process idle workers end; one that still
// runs a job, for a daemon thread, is left behind, and nobody can post any more.
#pragma once

#include "ebb/core/base/export.h"
#include "ebb/core/device/device.h"
#include "ebb/core/runtime/float_mode.h"

namespace ebb::autograd {

/// Something to be done on the thread of a device.
class DeviceJob {
 public:
  /// Must throw nothing. The worker does not touch the job afterwards.
  virtual void work() noexcept = 0;

  const FloatMode float_mode = FloatMode::current();

 protected:
  ~DeviceJob() = default;
};

/// Lets the device's worker do the job, after those that came before. False if there is no worker:
/// the process is ending, or the system gives no more threads. Then nothing has happened.
EBB_API bool post_to_worker(Device device, DeviceJob& job);

}  // namespace ebb::autograd
