// ebb/testing/gradcheck.cpp -- how gradcheck() works: see check_pair() and check_along_direction().
//
// Inputs are perturbed in place, element by element through their own strides, so the function sees
// the very layouts that it was given. A complex element counts as two real components: for a seed v
// and a direction u the numbers compared are dot(v, df) and dot(grad, u) over components.
#include "ebb/testing/gradcheck.h"

#include <cmath>

#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops.h"
#include "ebb/core/base/random.h"

namespace ebb::testing {
namespace {

using Components = std::vector<double>;

size_t parts_of(const Tensor& tensor) { return is_complex(tensor.dtype()) ? 2 : 1; }
size_t component_count(const Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * parts_of(tensor);
}

/// The indices of an element, counted in row-major order.
Shape indices_of(const Tensor& tensor, size_t component) {
  Shape indices = tensor.shape();
  auto rest = static_cast<int64_t>(component / parts_of(tensor));
  for (int dim = indices.ndim() - 1; dim >= 0; --dim) {
    const int64_t size = tensor.size(dim);
    indices[dim] = rest % size;
    rest /= size;
  }
  return indices;
}

/// Where one component of a float64 or complex128 tensor lies in memory.
double* component_address(const Tensor& tensor, size_t component) {
  const size_t parts = parts_of(tensor);
  const Shape indices = indices_of(tensor, component);
  int64_t offset = 0;
  for (int dim = 0; dim < indices.ndim(); ++dim) {
    offset += indices[dim] * tensor.strides()[static_cast<size_t>(dim)];
  }
  return static_cast<double*>(tensor.host_data()) + offset * static_cast<int64_t>(parts) +
         static_cast<int64_t>(component % parts);
}

/// All components in row-major order; other dtypes are converted.
Components components_of(const Tensor& tensor) {
  const NoGradGuard guard;
  const DType wide = is_complex(tensor.dtype()) ? DType::complex128 : DType::float64;
  const Tensor flat = contiguous(cast(detach(tensor), wide));
  const auto* const first = static_cast<const double*>(flat.host_data());
  return {first, first + component_count(flat)};
}

/// A tensor of the shape and dtype of `like` that holds these components.
Tensor from_components(const Tensor& like, const Components& components) {
  const NoGradGuard guard;
  const DType wide = is_complex(like.dtype()) ? DType::complex128 : DType::float64;
  const Tensor tensor = empty(like.sizes(), wide);
  std::copy(components.begin(), components.end(), static_cast<double*>(tensor.host_data()));
  return cast(tensor, like.dtype());
}

double dot(const Components& lhs, const Components& rhs) {
  double sum = 0;
  for (size_t index = 0; index < lhs.size(); ++index) sum += lhs[index] * rhs[index];
  return sum;
}

/// A repeatable random vector of length 1.
Components random_direction(size_t count, uint64_t seed) {
  Components direction(count);
  for (size_t index = 0; index < count; ++index) {
    const auto words = random_words({seed, 0}, index);
    direction[index] = words[0] * 0x1p-31 - 1;
  }
  const double norm = std::sqrt(dot(direction, direction));
  for (double& value : direction) value /= norm;
  return direction;
}

/// One function, its inputs and what is asked of them.
class Check {
 public:
  Check(const char* name, const TensorFunction& function, std::span<const Tensor> inputs,
        const GradcheckOptions& options)
      : name_(name), function_(function), inputs_(inputs), options_(options) {
    for (size_t index = 0; index < inputs.size(); ++index) {
      if (inputs[index].requires_grad()) add_input(index);
    }
    if (checked_.empty()) {
      throw ValueError(
          str(name, ": needs an input that requires a gradient, got none in ", inputs.size()));
    }
  }

  void run() {
    const std::vector<Tensor> outputs = function_(inputs_);
    for (const Tensor& out : outputs) shapes_.push_back(out.shape());
    for (size_t output = 0; output < outputs.size(); ++output) {
      if (!is_differentiable(outputs[output].dtype())) continue;
      for (const size_t input : checked_) {
        if (options_.fast_mode) {
          check_along_direction(output, input);
        } else {
          check_pair(output, input);
        }
        if (options_.check_forward_ad) check_tangents(output, input);
      }
    }
  }

 private:
  void add_input(size_t index) {
    const Tensor& input = inputs_[index];
    if (input.dtype() != DType::float64 && input.dtype() != DType::complex128) {
      throw DTypeError(str(name_, ": needs float64 or complex128 inputs, got ", input.dtype(),
                           " at position ", index));
    }
    if (has_internal_overlap(input)) {
      throw ValueError(str(name_, ": needs inputs without overlapping elements, got strides ",
                           PrintShape{input.strides()}, " at position ", index,
                           "\nhint: make it contiguous(), or expand inside the function"));
    }
    checked_.push_back(index);
  }

  Tensor output_of(size_t output) const { return function_(inputs_)[output]; }

  /// df of one output when `input` moves by `step` along `direction`, over 2 * eps.
  Components difference(size_t output, size_t input, const Components& direction) const {
    const Tensor& moved = inputs_[input];
    const Components before = components_of(moved);
    const auto move = [&](double step) {
      for (size_t index = 0; index < direction.size(); ++index) {
        *component_address(moved, index) = before[index] + step * direction[index];
      }
    };
    Components slope, behind;
    try {
      move(options_.eps);
      slope = moved_output(output, input);
      move(-options_.eps);
      behind = moved_output(output, input);
    } catch (...) {
      move(0);
      throw;
    }
    move(0);
    for (size_t index = 0; index < slope.size(); ++index) {
      slope[index] = (slope[index] - behind[index]) / (2 * options_.eps);
    }
    return slope;
  }

  /// An output after `input` moved. What has other sizes then cannot be compared.
  Components moved_output(size_t output, size_t input) const {
    const std::vector<Tensor> outputs = function_(inputs_);
    const bool is_there = output < outputs.size();
    if (is_there && outputs[output].shape() == shapes_[output]) {
      return components_of(outputs[output]);
    }
    throw AutogradError(str(name_, ": the shape of output ", output, " must not depend on values, ",
                            "got ", shapes_[output], " and, with input ", input, " moved by eps, ",
                            is_there ? str(outputs[output].shape()) : "no such output"));
  }

  /// What backward makes of a seed.
  Components gradient(size_t output, size_t input, const Components& seed) const {
    const auto once = [&] {
      const Tensor out = output_of(output);
      if (!out.requires_grad()) return Components(component_count(inputs_[input]), 0.0);
      const Tensor seeds[] = {from_components(out, seed)};
      const Tensor outs[] = {out};
      const Tensor ins[] = {inputs_[input]};
      return components_of(grad(outs, ins, seeds, {.materialize_grads = true})[0]);
    };
    const Components first = once();
    const Components second = once();
    for (size_t index = 0; index < first.size(); ++index) {
      if (std::abs(first[index] - second[index]) > options_.nondet_tol) {
        throw AutogradError(str(name_, ": backward must be repeatable, got ", first[index],
                                " and then ", second[index], " for input ", input));
      }
    }
    return first;
  }

  bool agree(double analytical, double numerical) const {
    // Written so that NaN disagrees.
    return std::abs(analytical - numerical) <= options_.atol + options_.rtol * std::abs(numerical);
  }

  [[noreturn]] void fail(const char* what, size_t output, size_t input,
                         const std::string& where) const {
    throw AutogradError(str(name_, ": ", what, " of output ", output, " with respect to input ",
                            input, " must match finite differences, got ", where));
  }
  static std::string both(double analytical, double numerical) {
    return str("analytical ", analytical, " and numerical ", numerical, " ");
  }

  /// One random direction: as good as the whole matrix for finding that it is wrong.
  void check_along_direction(size_t output, size_t input) const {
    const Tensor out = output_of(output);
    const Components seed = random_direction(component_count(out), 1);
    const Components direction = random_direction(component_count(inputs_[input]), 2);
    const double numerical = dot(seed, difference(output, input, direction));
    const double analytical = dot(gradient(output, input, seed), direction);
    if (!agree(analytical, numerical)) {
      fail("gradient", output, input, both(analytical, numerical) + "along a random direction");
    }
  }

  /// Every component of the output against every component of the input.
  void check_pair(size_t output, size_t input) const {
    const size_t rows = component_count(output_of(output));
    std::vector<Components> gradients(rows);
    for (size_t row = 0; row < rows; ++row) {
      Components seed(rows, 0.0);
      seed[row] = 1;
      gradients[row] = gradient(output, input, seed);
    }
    const auto entry = [&](size_t row, size_t column) { return gradients[row][column]; };
    compare("gradient", output, input, slopes_of(output, input), entry);
  }

  /// The tangents along every component of the input, or along one random direction.
  void check_tangents(size_t output, size_t input) const {
    const size_t columns = component_count(inputs_[input]);
    if (options_.fast_mode) {
      const Components direction = random_direction(columns, 2);
      const Components found = tangent(output, input, direction);
      const Components slope = difference(output, input, direction);
      for (size_t row = 0; row < slope.size(); ++row) {
        if (agree(found[row], slope[row])) continue;
        fail("tangent", output, input, both(found[row], slope[row]) + "along a random direction");
      }
      return;
    }
    std::vector<Components> tangents(columns);
    for (size_t column = 0; column < columns; ++column) {
      tangents[column] = tangent(output, input, unit(columns, column));
    }
    const auto entry = [&](size_t row, size_t column) { return tangents[column][row]; };
    compare("tangent", output, input, slopes_of(output, input), entry);
  }

  /// What forward mode makes of a direction.
  Components tangent(size_t output, size_t input, const Components& direction) const {
    const ForwardLevelGuard level;
    std::vector<Tensor> given(inputs_.begin(), inputs_.end());
    given[input] = make_dual(given[input], from_components(inputs_[input], direction));
    const Tensor out = function_(given)[output];
    const Tensor found = unpack_dual(out).tangent;
    return found.defined() ? components_of(found) : Components(component_count(out), 0.0);
  }

  static Components unit(size_t count, size_t position) {
    Components direction(count, 0.0);
    direction[position] = 1;
    return direction;
  }

  /// The Jacobian by finite differences, by column.
  std::vector<Components> slopes_of(size_t output, size_t input) const {
    const size_t columns = component_count(inputs_[input]);
    std::vector<Components> slopes(columns);
    for (size_t column = 0; column < columns; ++column) {
      slopes[column] = difference(output, input, unit(columns, column));
    }
    return slopes;
  }

  /// Throws, with the first and the worst element, if a Jacobian disagrees with slopes.
  template <typename Entry>
  void compare(const char* what, size_t output, size_t input, const std::vector<Components>& slopes,
               const Entry& entry) const {
    const Tensor out = output_of(output);
    const size_t rows = component_count(out), columns = slopes.size();
    std::string first, worst;
    double farthest = -1;
    size_t count = 0;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        const double analytical = entry(row, column), numerical = slopes[column][row];
        if (agree(analytical, numerical)) continue;
        ++count;
        const double off = std::abs(analytical - numerical);
        if (!first.empty() && !(off > farthest)) continue;
        worst = str(both(analytical, numerical), "at ", place(inputs_[input], column),
                    " of the input and ", place(out, row), " of the output");
        if (first.empty()) first = worst;
        farthest = off;
      }
    }
    if (count == 0) return;
    fail(what, output, input,
         str(first, "\nworst: ", worst, "\nwrong: ", count, " of ", rows * columns, " elements"));
  }

  static std::string place(const Tensor& tensor, size_t component) {
    const std::string index = str(indices_of(tensor, component));
    if (parts_of(tensor) == 1) return index;
    return index + (component % 2 == 0 ? " (real part)" : " (imaginary part)");
  }

  const char* name_;
  const TensorFunction& function_;
  std::span<const Tensor> inputs_;
  const GradcheckOptions& options_;
  std::vector<Shape> shapes_;    // of the outputs
  std::vector<size_t> checked_;  // positions of the inputs that require a gradient
};

/// Seeds of the outputs' shapes that require gradients themselves.
std::vector<Tensor> random_seeds(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> seeds;
  for (const Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    const Components values = random_direction(component_count(output), 3 + seeds.size());
    seeds.push_back(requires_grad_(from_components(output, values)));
  }
  return seeds;
}

}  // namespace

void gradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
               const GradcheckOptions& options) {
  Check("gradcheck", function, inputs, options).run();
}

void gradgradcheck(const TensorFunction& function, std::span<const Tensor> inputs,
                   std::span<const Tensor> grad_outputs, const GradcheckOptions& options) {
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  const std::vector<Tensor> drawn =
      grad_outputs.empty() ? random_seeds(function(inputs)) : std::vector<Tensor>{};
  const std::span<const Tensor> seeds = grad_outputs.empty() ? drawn : grad_outputs;
  all.insert(all.end(), seeds.begin(), seeds.end());
  const size_t count = inputs.size();
  const TensorFunction gradients = [&function, count](std::span<const Tensor> arguments) {
    const std::span<const Tensor> primals = arguments.first(count);
    std::vector<Tensor> outputs;
    for (const Tensor& output : function(primals)) {
      if (output.requires_grad()) outputs.push_back(output);
    }
    std::vector<Tensor> wanted;
    for (const Tensor& primal : primals) {
      if (primal.requires_grad()) wanted.push_back(primal);
    }
    return grad(outputs, wanted, arguments.subspan(count),
                {.create_graph = true, .materialize_grads = true});
  };
  Check("gradgradcheck", gradients, all, options).run();
}

}  // namespace ebb::testing
