// ebb/ops/index_check.h -- whether indices are in range, before a kernel runs and while it does.
//
// A kernel reads each index once and checks it there (kernels/checked_index.h). What only makes a
// new tensor needs no other check; for what is written in place the index is looked at before as
// well (check_index_range), so that an error comes before anything is written, unless
// another thread writes the index during the call.
#pragma once

#include "ebb/core/tensor/tensor.h"
#include "ebb/kernels/checked_index.h"

namespace ebb::ops {

/// "7 at position [0, 2]", the position being one in `index`.
EBB_API std::string describe_wrong(const kernels::WrongIndex& wrong, const Tensor& index);

/// Throws IndexError, naming value and position, unless all elements are in [0, size).
/// `index` has dtype int64.
EBB_API void check_index_range(const char* op, const char* name, const Tensor& index, int64_t size);

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
