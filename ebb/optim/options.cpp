// ebb/optim/options.cpp -- the options of all optimizers, by name and range.
#include "ebb/optim/options.h"

#include "ebb/core/base/error.h"

namespace ebb::optim {

void list_options(SGDOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"momentum", options.momentum});
  visit({"dampening", options.dampening, OptionRange::any});
  visit({"weight_decay", options.weight_decay});
  visit({"nesterov", options.nesterov});
  visit({"maximize", options.maximize});
}

void list_options(AdamOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"beta1", options.beta1, OptionRange::below_one});
  visit({"beta2", options.beta2, OptionRange::below_one});
  visit({"eps", options.eps});
  visit({"weight_decay", options.weight_decay});
  visit({"amsgrad", options.amsgrad});
  visit({"maximize", options.maximize});
}

void list_options(SparseAdamOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"beta1", options.beta1, OptionRange::below_one});
  visit({"beta2", options.beta2, OptionRange::below_one});
  visit({"eps", options.eps});
  visit({"maximize", options.maximize});
}

void list_options(RMSpropOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"alpha", options.alpha});
  visit({"eps", options.eps});
  visit({"weight_decay", options.weight_decay});
  visit({"momentum", options.momentum});
  visit({"centered", options.centered});
  visit({"maximize", options.maximize});
}

void list_options(AdagradOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"lr_decay", options.lr_decay});
  visit({"weight_decay", options.weight_decay});
  visit({"initial_accumulator_value", options.initial_accumulator_value});
  visit({"eps", options.eps});
  visit({"maximize", options.maximize});
}

void list_options(AdadeltaOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"rho", options.rho, OptionRange::below_one});
  visit({"eps", options.eps});
  visit({"weight_decay", options.weight_decay});
  visit({"maximize", options.maximize});
}

void list_options(AdamaxOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"beta1", options.beta1, OptionRange::below_one});
  visit({"beta2", options.beta2, OptionRange::below_one});
  visit({"eps", options.eps});
  visit({"weight_decay", options.weight_decay});
  visit({"maximize", options.maximize});
}

void list_options(NAdamOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"beta1", options.beta1, OptionRange::below_one});
  visit({"beta2", options.beta2, OptionRange::below_one});
  visit({"eps", options.eps});
  visit({"weight_decay", options.weight_decay});
  visit({"momentum_decay", options.momentum_decay});
  visit({"decoupled_weight_decay", options.decoupled_weight_decay});
  visit({"maximize", options.maximize});
}

void list_options(RAdamOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"beta1", options.beta1, OptionRange::below_one});
  visit({"beta2", options.beta2, OptionRange::below_one});
  visit({"eps", options.eps});
  visit({"weight_decay", options.weight_decay});
  visit({"decoupled_weight_decay", options.decoupled_weight_decay});
  visit({"maximize", options.maximize});
}

void list_options(RpropOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"etaminus", options.etaminus, OptionRange::below_one});
  visit({"etaplus", options.etaplus});
  visit({"min_step_size", options.min_step_size});
  visit({"max_step_size", options.max_step_size});
  visit({"maximize", options.maximize});
}

void list_options(ASGDOptions& options, OptionVisitor visit) {
  visit({"lr", options.lr});
  visit({"lambd", options.lambd});
  visit({"alpha", options.alpha});
  visit({"t0", options.t0});
  visit({"weight_decay", options.weight_decay});
  visit({"maximize", options.maximize});
}

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
