// ebb/optim/options.h -- how an optimizer's options are checked.
//
// Each options struct has one function, list_options(), that shows every field with its name and
// range to a visitor (generated from ops/optim/fused.yaml). Checks, the Python binding and the
// schedules are all built on it.
#pragma once

#include "ebb/optim/optimizer_table.h"
#include "ebb/optim/option_field.h"

namespace ebb::optim {

/// Throws ValueError, naming `op`, for the first option out of its range.
EBB_API void check_option(const char* op, const OptionField& option);
/// Throws ValueError for options that are right alone and wrong together.
EBB_API void check_together(const char* op, const SGDOptions& options);
EBB_API void check_together(const char* op, const RpropOptions& options);
template <typename Options>
void check_together(const char*, const Options&) {}

}  // namespace ebb::optim
