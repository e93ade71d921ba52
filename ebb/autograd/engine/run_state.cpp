// ebb/autograd/engine/run_state.cpp -- who has which vectors.
#include "ebb/autograd/engine/run_state.h"

#include <memory>

#include "ebb/autograd/engine/nesting.h"
#include "ebb/core/base/thread_state.h"

namespace ebb::autograd {

// The buffers that a thread keeps are made by its first run, and freed by a thread_local when it
// ends.
BufferClaim::BufferClaim() : buffers_(static_cast<RunBuffers*>(thread_state.engine)) {
  thread_state.engine = nullptr;
  if (buffers_ != nullptr) [[likely]]
    return;
  buffers_ = new RunBuffers();
  buffers_->level = enter_nested_run();
}

BufferClaim::~BufferClaim() {
  buffers_->roots.clear();
  buffers_->staged.clear();
  buffers_->kept.clear();
  buffers_->undo.clear();
  if (buffers_->level == 0) [[likely]] {
    thread_state.engine = buffers_;
    return;
  }
  leave_nested_run();
  thread_local std::unique_ptr<RunBuffers> kept;
  if (kept == nullptr) {
    buffers_->level = 0;
    kept.reset(buffers_);
    thread_state.engine = buffers_;
  } else {
    delete buffers_;  // of a run inside another, which is using the kept ones
  }
}

}  // namespace ebb::autograd
