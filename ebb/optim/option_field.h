// ebb/optim/option_field.h -- one option of an optimizer, by name and range.
#pragma once

#include <cstdint>

#include "ebb/core/runtime/parallel.h"

namespace ebb::optim {

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

}  // namespace ebb::optim
