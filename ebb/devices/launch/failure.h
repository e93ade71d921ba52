// ebb/devices/launch/failure.h -- what a call of a device's interface failed with.
#pragma once

#include <stdexcept>

namespace ebb::devices {

/// Never leaves the library as such: the plug-in's functions make a status and a text of it,
/// kernels a DeviceError.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No memory is left: the status is kNoMemoryLeft, the error OutOfMemoryError.
class NoMemory : public Failure {
 public:
  using Failure::Failure;
};

}  // namespace ebb::devices
