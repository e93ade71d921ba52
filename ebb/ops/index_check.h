// ebb/ops/index_check.h -- whether indices are in range, before a kernel runs and while it does.
//
// A kernel reads each index once and checks it there (kernels/checked_index.h). What only makes a
// new tensor needs no other check; for what is written in place the index is looked at before as
// well (check_index_range), so that an error comes before anything is written, unless
// another thread writes the index during the call.
//
// On a device that can do so a kernel looks, in the order of the stream, and the error comes when
// the host next waits (ebb/core/device/stream_checks.h); kernels there skip what is out of range.
#pragma once

#include "ebb/core/device/stream_checks.h"
#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/checked_index.h"

namespace ebb::ops {

/// "7 at position [0, 2]", the position being one in `index`.
EBB_API std::string describe_wrong(const kernels::WrongIndex& wrong, const Tensor& index);

/// Queues the look of a device at the indices on it; false, and nothing is done, where the host has
/// to look. `index` has dtype int64 and some elements. With EBB_DEVICE_SYNC=1 it waits, and throws
/// the IndexError itself.
EBB_API bool is_watched(const Tensor& index, const StreamCheck& check);

/// The same for whether the elements of a floating dtype are in [low, high], which `check.claim`
/// says in words: a ValueError.
EBB_API bool is_range_watched(const Tensor& input, double low, double high,
                              const StreamCheck& check);

/// Throws IndexError, naming value and position, unless all elements are in [0, size), at once or,
/// on a device that looks by itself, at the next wait. `index` has dtype int64.
EBB_API void check_index_range(const char* op, const char* name, const Tensor& index, int64_t size);

/// Throws ValueError, in the words of `check`, which `is_whole`, unless all elements are in [0,
/// check.size), at once or, on a device that looks by itself, at the next wait.
EBB_API void check_whole(const Tensor& index, const StreamCheck& check);

/// Throws the IndexError of check_index_range(); looks where it is, if that is not known.
[[noreturn]] EBB_API void throw_wrong_index(const char* op, const char* name, const Tensor& index,
                                            int64_t size, const kernels::WrongIndex& wrong);

/// Runs a kernel that reads `index`, whose numbers have to lie in [0, size).
template <typename Run>
void with_index(const char* op, const char* name, const Tensor& index, int64_t size, Run run) {
  try {
    run();
  } catch (const kernels::WrongIndex& wrong) {
    throw_wrong_index(op, name, index, size, wrong);
  }
}

}  // namespace ebb::ops
