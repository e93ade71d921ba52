// ebb/optim/options.h -- how an optimizer's options are listed, checked and set by name.
//
// Each options struct has one function, list_options(), that shows every field with its name and
// range to a visitor. Checks, the Python binding and the schedules are all built on it.
#pragma once

#include <cstdint>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/optim_options.h"

namespace ebb::optim {

using kernels::AdadeltaOptions;
using kernels::AdagradOptions;
using kernels::AdamaxOptions;
using kernels::AdamOptions;
using kernels::ASGDOptions;
using kernels::NAdamOptions;
using kernels::RAdamOptions;
using kernels::RMSpropOptions;
using kernels::RpropOptions;
using kernels::SGDOptions;
using kernels::SparseAdamOptions;

/// Which values an option may have.
enum class OptionRange : uint8_t { any, not_negative, below_one };  // below_one: 0 <= value < 1

/// One field of an options struct: either a number or a flag.
struct OptionField {
  const char* name;
  double* number = nullptr;
  bool* flag = nullptr;
  OptionRange range = OptionRange::any;

  OptionField(const char* name, double& number, OptionRange range = OptionRange::not_negative)
      : name(name), number(&number), range(range) {}
  OptionField(const char* name, bool& flag) : name(name), flag(&flag) {}
};
using OptionVisitor = FunctionRef<void(const OptionField&)>;

EBB_API void list_options(SGDOptions& options, OptionVisitor visit);
EBB_API void list_options(AdamOptions& options, OptionVisitor visit);
EBB_API void list_options(SparseAdamOptions& options, OptionVisitor visit);
EBB_API void list_options(RMSpropOptions& options, OptionVisitor visit);
EBB_API void list_options(AdagradOptions& options, OptionVisitor visit);
EBB_API void list_options(AdadeltaOptions& options, OptionVisitor visit);
EBB_API void list_options(AdamaxOptions& options, OptionVisitor visit);
EBB_API void list_options(NAdamOptions& options, OptionVisitor visit);
EBB_API void list_options(RAdamOptions& options, OptionVisitor visit);
EBB_API void list_options(RpropOptions& options, OptionVisitor visit);
EBB_API void list_options(ASGDOptions& options, OptionVisitor visit);

/// Throws ValueError, naming `op`, for the first option out of its range.
EBB_API void check_option(const char* op, const OptionField& option);
/// Throws ValueError for options that are right alone and wrong together.
EBB_API void check_together(const char* op, const SGDOptions& options);
EBB_API void check_together(const char* op, const RpropOptions& options);
template <typename Options>
void check_together(const char*, const Options&) {}

}  // namespace ebb::optim
