// ebb/autograd/watch/composite_call.h -- whose call the ops of a composite belong to.
#pragma once

#include "ebb/autograd/watch/op_watch.h"
#include "ebb/core/base/call_name.h"
#include "ebb/core/base/location.h"

namespace ebb::autograd {

/// What the body of an op that is made of others opens with: what it records carries the line of
/// its call, and errors name it.
class CompositeCall {
 public:
  CompositeCall(const char* name, void* return_address)
      : place_(place_of_call(return_address)), name_(name) {}

 private:
  LocationScope place_;
  CallName name_;
};

}  // namespace ebb::autograd
