// ebb/optim/options.cpp -- which values the options of optimizers may have.
#include "ebb/optim/options.h"

#include "ebb/core/base/error.h"

namespace ebb::optim {

void check_option(const char* op, const OptionField& option) {
  if (option.number == nullptr || option.range == OptionRange::any) return;
  const double value = *option.number;
  const bool is_bounded = option.range == OptionRange::below_one;
  const bool is_valid = value >= 0 && (!is_bounded || value < 1);  // false for NaN
  if (is_valid) return;
  if (is_bounded) {
    throw ValueError(str(op, ": needs 0 <= ", option.name, " < 1, got ", value));
  }
  throw ValueError(str(op, ": needs ", option.name, " >= 0, got ", value));
}

void check_together(const char* op, const SGDOptions& options) {
  const bool is_plain = options.momentum > 0 && options.dampening == 0;
  if (options.nesterov && !is_plain) {
    throw ValueError(str(op, ": nesterov needs momentum > 0 and dampening 0, got ",
                         options.momentum, " and ", options.dampening));
  }
}

void check_together(const char* op, const RpropOptions& options) {
  const bool is_ordered = 0 < options.etaminus && options.etaminus < 1 && 1 < options.etaplus;
  if (!is_ordered) {
    throw ValueError(str(op, ": etas need 0 < etaminus < 1 < etaplus, got ", options.etaminus,
                         " and ", options.etaplus));
  }
}

}  // namespace ebb::optim
