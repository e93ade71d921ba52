// ebb/core/device/stream_checks.h -- checks of elements that streams do by themselves, and the
// errors that waiting for them raises.
//
// To look at indices before their kernel runs the host would have to wait. So a kernel looks, on
// the stream, and leaves what it finds first in a word of that stream's own memory, a Finding. The
// host reads that when it next waits for the stream, or for an event of the device, and throws the
// error there; then the word is cleared, and the device is as before. Start at note_check().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ebb/core/base/shape.h"
#include "ebb/core/device/device.h"
#include "ebb/core/device/device_plugin.h"

namespace ebb {

/// What a check is about. The error is an IndexError: "prefix, got 7 at position [0, 2]"; without
/// the position where `wraps`. With a `claim` the elements are real numbers, or integers where
/// `is_whole`, and it is a ValueError: "op: name must be claim, got 1.5 at position [0, 2]".
struct StreamCheck {
  const char* op = "";
  const char* name = "";             // of the operand that is looked at
  IntSpan sizes = {};                // of it
  int64_t size = 0;                  // indices are at least 0 and below it
  const int64_t* ignored = nullptr;  // the one number that may also be there
  bool wraps = false;                // negative numbers down to -size count from the back
  const char* claim = nullptr;       // what real numbers are: "from 0 to 1"
  bool is_whole = false;             // the claim is about integers, at least 0 and below size
};

namespace detail {

/// How a device tells what it found: three int64. The first one of a stream stays.
struct Finding {
  int64_t number;  // which check it was; 0: nothing was found
  int64_t position;
  int64_t value;  // of a real number: its bits as float32
};

/// Where a check writes, and under which number.
struct CheckSlot {
  void* finding = nullptr;  // a Finding in the device's memory
  int64_t number = 0;
};

}  // namespace detail

/// The text for indices that have to lie in a range, up to what was got.
EBB_API std::string index_error_prefix(const StreamCheck& check);

/// Notes a check that the caller queues on `stream` right away, for the line that runs now.
/// Throws DeviceError if the device does not give memory for the word.
EBB_API detail::CheckSlot note_check(Stream stream, NativeStream native, const StreamCheck& check);

namespace detail {

/// What waiting for a stream does about its checks: made before, asked after.
class FindingRead {
 public:
  /// Queues a copy of the stream's Finding to the host, if checks were queued since the last one.
  FindingRead(Stream stream, NativeStream native);
  ~FindingRead();
  FindingRead(const FindingRead&) = delete;
  FindingRead& operator=(const FindingRead&) = delete;
  /// After the stream is done. Throws IndexError if a check has found something.
  void raise_if_found();

 private:
  Stream stream_;
  Finding* copy_ = nullptr;  // null: there is nothing to ask
  int64_t last_check_ = 0;   // that was queued by then
  int status_ = 0;           // of queueing the copy
};

/// How often the host has waited for a device, so far: for streams and events, copies included.
EBB_API int64_t device_waits();

/// For the end of a wait that was for no stream: one of the device's whose checks have found
/// something, as far as they are done. Waiting for it tells what.
std::optional<Stream> stream_with_finding(Device device);

}  // namespace detail
}  // namespace ebb
