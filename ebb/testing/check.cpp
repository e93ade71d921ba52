// ebb/testing/check.cpp -- finite differences, gradients and tangents of one function.
#include "ebb/testing/check.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iterator>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/dot.h"
#include "ebb/autograd/ops/ones_like.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/stack.h"
#include "ebb/autograd/ops/zeros_like.h"
#include "ebb/core/tensor/sparse.h"

namespace ebb::testing {
namespace {

constexpr size_t kBatch = 3;  // seeds or directions

std::vector<Components> batch_of(size_t count) {
  std::vector<Components> rows;
  for (size_t number = 0; number < kBatch; ++number) {
    rows.push_back(random_direction(count, 5 + number));
  }
  return rows;
}

/// Levels of forward mode, left in the opposite order.
struct Levels {
  std::vector<uint64_t> ids;
  ~Levels() {
    for (; !ids.empty(); ids.pop_back()) exit_forward_level(ids.back());
  }
};

/// What is not given counts as zeros.
Components or_zeros(const Tensor& grad, const Tensor& like) {
  return grad.defined() ? components_of(grad) : Components(component_count(like), 0.0);
}

std::vector<double*> sorted_addresses(const Tensor& tensor) {
  std::vector<double*> addresses = component_addresses(tensor);
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

}  // namespace

Check::Check(const char* name, const TensorFunction& function, std::span<const Tensor> inputs,
             const GradcheckOptions& options)
    : name_(name), function_(function), inputs_(inputs), options_(options) {
  for (size_t index = 0; index < inputs.size(); ++index) {
    if (inputs[index].defined() && inputs[index].requires_grad()) checked_.push_back(index);
  }
  if (checked_.empty()) {
    throw ValueError(
        str(name, ": needs an input that requires a gradient, got none in ", inputs.size()));
  }
  for (const size_t index : checked_) check_input(index);
  check_memory();
  numerical_.resize(inputs.size());
}

void Check::check_input(size_t index) const {
  const Tensor& input = inputs_[index];
  if (!is_strided(input)) {
    throw ValueError(str(name_, ": needs strided inputs, got ", name_of(input.layout()),
                         " at position ", index,
                         "\nhint: check a function of its values, and make it sparse inside"));
  }
  if (input.dtype() != DType::float64 && input.dtype() != DType::complex128) {
    throw DTypeError(str(name_, ": needs float64 or complex128 inputs, got ", input.dtype(),
                         " at position ", index));
  }
}

/// Refuses inputs where moving one element moves another one too.
void Check::check_memory() const {
  std::vector<std::vector<double*>> seen;
  for (const size_t index : checked_) {
    std::vector<double*> own = sorted_addresses(inputs_[index]);
    if (std::adjacent_find(own.begin(), own.end()) != own.end()) {
      throw ValueError(str(name_, ": needs inputs without overlapping elements, got strides ",
                           PrintShape{inputs_[index].strides()}, " at position ", index,
                           "\nhint: make it contiguous(), or expand inside the function"));
    }
    for (size_t other = 0; other < seen.size(); ++other) {
      if (inputs_[checked_[other]].impl() == inputs_[index].impl()) continue;
      std::vector<double*> common;
      std::set_intersection(own.begin(), own.end(), seen[other].begin(), seen[other].end(),
                            std::back_inserter(common));
      if (common.empty()) continue;
      throw ValueError(str(name_, ": needs inputs that share no memory, got elements in common at ",
                           "positions ", checked_[other], " and ", index,
                           "\nhint: clone() one of them"));
    }
    seen.push_back(std::move(own));
  }
}

void Check::run() {
  const std::vector<Tensor> outs = outputs();
  for (size_t output = 0; output < outs.size(); ++output) {
    if (!is_differentiable(outs[output].dtype())) continue;
    if (options_.fast_mode) {
      check_seed(output, outs[output]);
    } else {
      check_rows(output, outs[output]);
    }
    if (options_.check_batched_grad) check_batched_seeds(output, outs[output]);
  }
  if (options_.check_undefined_grad && outs.size() > 1) check_undefined(outs.size());
}

void Check::run_forward() {
  const std::vector<Tensor> outs = outputs();
  for (const size_t index : checked_) {
    const size_t count = component_count(inputs_[index]);
    Rows steps;
    if (options_.fast_mode) {
      steps.push_back(random_direction(count, 2));
    } else {
      for (size_t column = 0; column < count; ++column) steps.push_back(unit(count, column));
    }
    std::vector<Rows> found, wanted;
    for (const Components& step : steps) found.push_back(tangents(index, step));
    for (const Components& step : steps) wanted.push_back(slopes(index, step));
    for (size_t output = 0; output < outs.size(); ++output) {
      if (!is_differentiable(outs[output].dtype())) continue;
      Jacobian got(component_count(outs[output]), steps.size());
      Jacobian expected(got.rows, got.columns);
      for (size_t step = 0; step < steps.size(); ++step) {
        for (size_t row = 0; row < got.rows; ++row) {
          got.at(row, step) = found[step][output][row];
          expected.at(row, step) = wanted[step][output][row];
        }
      }
      compare("tangent", output, index, {got, expected, options_.atol, options_.rtol},
              outs[output]);
    }
    if (options_.check_batched_forward_grad) check_batched_steps(index);
  }
}

std::vector<Tensor> Check::outputs_with(size_t index, const Tensor& given) const {
  std::vector<Tensor> all(inputs_.begin(), inputs_.end());
  for (Tensor& one : all) {
    if (one.impl() == inputs_[index].impl()) one = given;
  }
  return function_(all);
}

std::vector<Tensor> Check::checked_inputs() const {
  std::vector<Tensor> found;
  for (const size_t index : checked_) found.push_back(inputs_[index]);
  return found;
}

Check::Rows Check::slopes(size_t index, const Components& direction) const {
  const std::vector<double*> memory = component_addresses(inputs_[index]);
  const Components before = components_of(inputs_[index]);
  const std::vector<Tensor> unmoved = outputs();
  const auto move = [&](double step) {
    for (size_t i = 0; i < memory.size(); ++i) *memory[i] = before[i] + step * direction[i];
  };
  Rows ahead, behind;
  try {
    move(options_.eps);
    ahead = moved_outputs(index, unmoved);
    move(-options_.eps);
    behind = moved_outputs(index, unmoved);
  } catch (...) {
    move(0);
    throw;
  }
  move(0);
  for (size_t output = 0; output < ahead.size(); ++output) {
    for (size_t row = 0; row < ahead[output].size(); ++row) {
      ahead[output][row] = (ahead[output][row] - behind[output][row]) / (2 * options_.eps);
    }
  }
  return ahead;
}

/// The outputs after an input moved. What has other sizes then cannot be compared.
Check::Rows Check::moved_outputs(size_t index, const std::vector<Tensor>& before) const {
  const std::vector<Tensor> outs = outputs();
  const auto shape_of = [](const std::vector<Tensor>& all, size_t output) {
    return output < all.size() ? str(all[output].shape()) : "no such output";
  };
  Rows found;
  for (size_t output = 0; output < std::max(outs.size(), before.size()); ++output) {
    const std::string then = shape_of(before, output), now = shape_of(outs, output);
    if (then != now) {
      fail("the shape of output ", output, " must not depend on values, got ", then,
           " and, with input ", index, " moved by eps, ", now);
    }
    found.push_back(is_differentiable(outs[output].dtype()) ? components_of(outs[output])
                                                            : Components());
  }
  return found;
}

const Jacobian& Check::numerical(size_t output, size_t index, size_t rows) {
  std::vector<Jacobian>& known = numerical_[index];
  const size_t count = component_count(inputs_[index]);
  for (size_t column = 0; column < count; ++column) {
    if (column == 0 && !known.empty()) break;
    const Rows moved = slopes(index, unit(count, column));
    for (size_t other = 0; other < moved.size(); ++other) {
      if (column == 0) known.emplace_back(moved[other].size(), count);
      for (size_t row = 0; row < moved[other].size(); ++row) {
        known[other].at(row, column) = moved[other][row];
      }
    }
  }
  while (known.size() <= output) known.emplace_back(rows, 0);
  return known[output];
}

Check::Rows Check::gradients(size_t output, const Components& seed) const {
  const Rows first = gradients_once(output, seed), second = gradients_once(output, seed);
  for (size_t position = 0; position < checked_.size(); ++position) {
    double most = 0;
    for (size_t i = 0; i < first[position].size(); ++i) {
      most = std::max(most, std::abs(first[position][i] - second[position][i]));
    }
    if (most > options_.nondet_tol) {
      fail("backward must be repeatable, got a difference of ", most, " between two runs for ",
           "output ", output, " and input ", checked_[position],
           "\nhint: nondet_tol allows for a difference");
    }
  }
  return first;
}

Check::Rows Check::gradients_once(size_t output, const Components& seed) const {
  const std::vector<Tensor> values = checked_inputs();
  const Tensor out = outputs().at(output);
  std::vector<Tensor> found(values.size());
  if (out.requires_grad()) {
    const Tensor seeds[] = {from_components(out, seed)};
    found = grad({&out, 1}, values, seeds, {.allow_unused = true});
  }
  Rows rows;
  for (size_t position = 0; position < values.size(); ++position) {
    check_kind(checked_[position], found[position]);
    rows.push_back(or_zeros(found[position], values[position]));
  }
  return rows;
}

void Check::check_kind(size_t index, const Tensor& grad) const {
  if (!grad.defined()) return;
  const Tensor& input = inputs_[index];
  if (grad.shape() != input.shape()) {
    fail("gradient of input ", index, " must have its shape ", input.shape(), ", got ",
         grad.shape());
  }
  if (options_.check_grad_dtypes && grad.dtype() != input.dtype()) {
    fail("gradient of input ", index, " must have its dtype ", input.dtype(), ", got ",
         grad.dtype());
  }
}

Check::Rows Check::tangents(size_t index, const Components& direction) const {
  const ForwardLevelGuard level;
  const Tensor step = from_components(inputs_[index], direction);
  const std::vector<Tensor> outs = outputs_with(index, make_dual(inputs_[index], step));
  Rows found;
  for (size_t output = 0; output < outs.size(); ++output) {
    const Tensor& out = outs[output];
    if (!is_differentiable(out.dtype())) {
      found.emplace_back();
      continue;
    }
    const Tensor tangent = unpack_dual(out).tangent;
    if (tangent.defined() && (tangent.shape() != out.shape() || tangent.dtype() != out.dtype())) {
      fail("the tangent of output ", output, " must have its shape and dtype, ", out.dtype(), " ",
           out.shape(), ", got ", tangent.dtype(), " ", tangent.shape());
    }
    found.push_back(or_zeros(tangent, out));
  }
  return found;
}

/// Checks every component of the output against every component of each input.
void Check::check_rows(size_t output, const Tensor& out) {
  const size_t count = component_count(out);
  std::vector<Rows> rows;
  for (size_t row = 0; row < count; ++row) rows.push_back(gradients(output, unit(count, row)));
  for (size_t position = 0; position < checked_.size(); ++position) {
    const size_t index = checked_[position];
    Jacobian analytical(count, component_count(inputs_[index]));
    for (size_t row = 0; row < count; ++row) {
      std::copy(rows[row][position].begin(), rows[row][position].end(),
                analytical.values.begin() + static_cast<int64_t>(row * analytical.columns));
    }
    const Comparison pair{analytical, numerical(output, index, count), options_.atol,
                          options_.rtol};
    compare("gradient", output, index, pair, out);
  }
}

/// Checks one random seed and direction: as good as the whole for finding a mistake.
void Check::check_seed(size_t output, const Tensor& out) {
  const Components seed = random_direction(component_count(out), 1);
  const Rows found = gradients(output, seed);
  for (size_t position = 0; position < checked_.size(); ++position) {
    const size_t index = checked_[position];
    const Components direction = random_direction(component_count(inputs_[index]), 2);
    Jacobian analytical(1, 1), expected(1, 1);
    expected.at(0, 0) = dot(seed, slopes(index, direction)[output]);
    analytical.at(0, 0) = dot(found[position], direction);
    try {
      compare("gradient", output, index, {analytical, expected, options_.atol, options_.rtol}, out);
    } catch (const GradcheckError& error) {
      throw GradcheckError(error.what() + details(output, out));
    }
  }
}

std::string Check::details(size_t output, const Tensor& out) const {
  Check slow(name_, function_, inputs_, options_);
  slow.options_.fast_mode = false;
  try {
    slow.check_rows(output, out);
  } catch (const GradcheckError& error) {
    return str("\nelement by element: ", error.what());
  }
  return "\nelement by element: all agree within the tolerances";
}

/// Checks that an output without a gradient counts as one whose gradient is zero.
void Check::check_undefined(size_t count) const {
  const std::vector<Tensor> values = checked_inputs();
  for (size_t output = 0; output < count; ++output) {
    const std::vector<Tensor> outs = outputs();
    std::vector<Tensor> seeds;
    for (const Tensor& out : outs) {
      if (!out.requires_grad()) return;
      seeds.push_back(zeros_like(out));
    }
    seeds[output] = ones_like(outs[output]);
    const std::vector<Tensor> full =
        grad(outs, values, seeds, {.retain_graph = true, .allow_unused = true});
    const std::vector<Tensor> alone =
        grad({&outs[output], 1}, values, {&seeds[output], 1}, {.allow_unused = true});
    for (size_t position = 0; position < values.size(); ++position) {
      const Components one = or_zeros(full[position], values[position]);
      const Components other = or_zeros(alone[position], values[position]);
      if (farthest_apart(one, other, options_.rtol, 1e-12) < 0) continue;
      fail("outputs without a gradient must count as zero, got another gradient for input ",
           checked_[position], " with only output ", output, " given");
    }
  }
}

/// Compares gradients of seeds given at once with those of each by itself.
void Check::check_batched_seeds(size_t output, const Tensor& out) const {
  if (!out.requires_grad()) return;
  const Rows seeds = batch_of(component_count(out));
  std::vector<Tensor> stacked;
  for (const Components& seed : seeds) stacked.push_back(from_components(out, seed));
  const Tensor batch = stack(stacked, 0);
  const Tensor again = outputs().at(output);
  const std::vector<Tensor> found = grad({&again, 1}, checked_inputs(), {&batch, 1},
                                         {.allow_unused = true, .is_grads_batched = true});
  for (size_t number = 0; number < seeds.size(); ++number) {
    const Rows alone = gradients_once(output, seeds[number]);
    for (size_t position = 0; position < checked_.size(); ++position) {
      const Tensor row = found[position].defined()
                             ? select(found[position], 0, static_cast<int64_t>(number))
                             : Tensor();
      compare_batch("gradient", output, checked_[position], number,
                    or_zeros(row, inputs_[checked_[position]]), alone[position]);
    }
  }
}

/// Compares tangents of directions that go through one call with those of each by itself.
void Check::check_batched_steps(size_t index) const {
  const Rows steps = batch_of(component_count(inputs_[index]));
  const std::vector<Rows> batch = tangents_at_once(index, steps);
  for (size_t number = 0; number < steps.size(); ++number) {
    const Rows alone = tangents(index, steps[number]);
    for (size_t output = 0; output < alone.size(); ++output) {
      compare_batch("tangent", output, index, number, batch[number][output], alone[output]);
    }
  }
}

std::vector<Check::Rows> Check::tangents_at_once(size_t index, const Rows& steps) const {
  Levels levels;
  Tensor dual = inputs_[index];
  for (const Components& step : steps) {
    levels.ids.push_back(enter_forward_level());
    dual = make_dual(dual, from_components(inputs_[index], step));
  }
  const std::vector<Tensor> outs = outputs_with(index, dual);
  std::vector<Rows> found;
  for (const uint64_t level : levels.ids) {
    Rows rows;
    for (const Tensor& out : outs) {
      rows.push_back(is_differentiable(out.dtype()) ? or_zeros(unpack_dual(out, level).tangent, out)
                                                    : Components());
    }
    found.push_back(std::move(rows));
  }
  return found;
}

void Check::compare(const char* what, size_t output, size_t index, const Comparison& pair,
                    const Tensor& out) const {
  const size_t first = pair.first_wrong();
  if (first == pair.analytical.values.size()) return;
  const bool is_whole =
      !options_.fast_mode && pair.analytical.columns == component_count(inputs_[index]);
  fail(what, " of output ", output, " with respect to input ", index,
       " must match finite differences, got ",
       is_whole ? pair.explain(out, inputs_[index])
                : pair.both(first) + " along a random direction");
}

void Check::compare_batch(const char* what, size_t output, size_t index, size_t number,
                          const Components& got, const Components& alone) const {
  const int64_t worst = farthest_apart(got, alone, options_.rtol, options_.atol);
  if (worst < 0) return;
  const auto component = static_cast<size_t>(worst);
  fail(what, " of output ", output, " with respect to input ", index,
       " must be the same in a batch as alone, got ", std::setprecision(9), got[component], " and ",
       alone[component], " at component ", worst, " of entry ", number, " of the batch");
}

}  // namespace ebb::testing
