// ebb/autograd/watch/finite_check.cpp -- looking at numbers, and the errors of what is found.
#include "ebb/autograd/watch/finite_check.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/watch/poles.h"
#include "ebb/core/base/error.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/kernels/cpu/pointwise/finite.h"
#include "ebb/ops/copy.h"

namespace ebb::autograd {
namespace {

/// The same numbers on the CPU, one after another.
Tensor readable(const Tensor& tensor) {
  if (has_parts(tensor)) return readable(parts_of("check", tensor).values);
  const Tensor here =
      tensor.device().type == DeviceType::cpu ? tensor : ops::to_device(tensor, Device());
  return here.is_contiguous() ? here : ops::clone(here);
}

bool has_numbers(const Tensor& tensor) {
  return tensor.defined() && !is_meta(tensor) && is_differentiable(tensor.dtype()) &&
         tensor.numel() > 0 && tensor.layout() != Layout::opaque;
}

bool has_non_finite(const Tensor& tensor, bool only_nan) {
  if (!has_numbers(tensor)) return false;
  const Tensor values = readable(tensor);
  return kernels::cpu::has_non_finite(values.dtype(), values.host_data(), values.numel(), only_nan);
}

/// What a tensor holds, counted.
struct Count {
  int64_t nans = 0;
  int64_t infinities = 0;  // those below 0 included
  int64_t negatives = 0;   // infinities below 0
  int64_t first = -1;      // its position in row-major order
  bool first_is_nan = false;
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();

  void see(int64_t position, double value) {
    if (std::isfinite(value)) {
      least = std::min(least, value);
      largest = std::max(largest, value);
      return;
    }
    const bool is_nan = std::isnan(value);
    ++(is_nan ? nans : infinities);
    if (value < 0) ++negatives;
    if (first >= 0) return;
    first = position;
    first_is_nan = is_nan;
  }
};

/// An element counts as NaN if either part of it is, and else as infinite if either is.
template <typename T>
double worst_part(const T& value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const bool is_nan = std::isnan(value.real()) || std::isnan(value.imag());
    return is_nan ? std::numeric_limits<double>::quiet_NaN()
                  : std::abs(std::complex<double>(value));  // infinite if either part is
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

Count count_of(const Tensor& tensor) {
  Count count;
  const Tensor values = readable(tensor);
  visit_dtype(values.dtype(), [&]<typename T>(TypeTag<T>) {
    if constexpr (is_differentiable(dtype_of<T>)) {
      const T* const data = values.data<T>();
      for (int64_t i = 0; i < values.numel(); ++i) count.see(i, worst_part(data[i]));
    }
  });
  return count;
}

std::string position_of(IntSpan sizes, int64_t flat) {
  std::vector<int64_t> index(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0; flat /= sizes[dim]) index[dim] = flat % sizes[dim];
  return str(PrintShape{index});
}

std::string text_of(const Count& count, const Tensor& tensor) {
  std::string text;
  const auto add = [&](int64_t number, const char* what) {
    if (number > 0) text += str(text.empty() ? "" : " and ", number, what);
  };
  add(count.nans, " nan");
  add(count.infinities - count.negatives, " inf");
  add(count.negatives, " -inf");
  text += str(" in ", tensor.numel(), tensor.numel() == 1 ? " element" : " elements");
  if (tensor.ndim() == 0) return text;
  return text + str(", the first (", count.first_is_nan ? "nan" : "inf", ") at ",
                    position_of(tensor.sizes(), count.first));
}

/// "input has 1 nan in 4 elements, ..." or "input lies in [0, 3]"; nothing of other kinds.
std::string describe_operand(const NamedTensor& operand) {
  const Tensor& tensor = *operand.tensor;
  if (!has_numbers(tensor)) return {};
  const Count count = count_of(tensor);
  const std::string name = operand.name + naming_of(tensor);
  if (count.first >= 0) return str(name, " has ", text_of(count, tensor));
  if (is_complex(tensor.dtype())) return str(name, " is finite");
  return str(name, " lies in [", count.least, ", ", count.largest, "]");
}

std::string describe_operands(std::span<const NamedTensor> operands) {
  std::string text;
  for (const NamedTensor& operand : operands) {
    const std::string one = describe_operand(operand);
    if (!one.empty()) text += (text.empty() ? "; " : ", ") + one;
  }
  return text;
}

/// What the numbers of a tensor hold besides finite ones.
enum class Finiteness : uint8_t { finite, has_infinity, has_nan };

/// Of undefined tensors and those of integers: finite. Waits for a device.
Finiteness finiteness_of(const Tensor& tensor) {
  if (!has_non_finite(tensor, false)) return Finiteness::finite;
  return has_non_finite(tensor, true) ? Finiteness::has_nan : Finiteness::has_infinity;
}

/// The poles of an op, all of one operand.
std::vector<PoleRow> poles_of(std::string_view op) {
  if (op.ends_with("_out")) op.remove_suffix(4);
  std::vector<PoleRow> found;
  for (const PoleRow& row : pole_rows()) {
    if (row.op == op && (found.empty() || row.operand == found[0].operand)) found.push_back(row);
  }
  return found;
}

bool is_pole(std::span<const PoleRow> poles, double value) {
  return std::any_of(poles.begin(), poles.end(),
                     [&](const PoleRow& pole) { return pole.value == value; });
}

/// How many infinities of a result are at no pole of the op; -1 if that cannot be told.
int64_t count_overflows(const char* op, const Tensor& result,
                        std::span<const NamedTensor> operands) {
  const Count found = count_of(result);
  const std::vector<PoleRow> poles = poles_of(op);
  if (poles.empty()) return found.infinities;
  if (std::isnan(poles[0].value)) return -1;
  for (const NamedTensor& operand : operands) {
    if (operand.name != poles[0].operand || is_complex(operand.tensor->dtype())) continue;
    const Tensor values = readable(ops::cast(*operand.tensor, DType::float64));
    const Tensor results = readable(ops::cast(result, DType::float64));
    const bool is_aligned = equal(values.sizes(), results.sizes());
    int64_t at_poles = 0;
    for (int64_t i = 0; i < values.numel(); ++i) {
      if (!is_pole(poles, values.data<double>()[i])) continue;
      if (!is_aligned) return -1;
      if (std::isinf(results.data<double>()[i])) ++at_poles;
    }
    return found.infinities - at_poles;
  }
  return -1;
}

/// The largest finite number of a real floating dtype.
double most_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return 65504;
    case DType::bfloat16: return 0x1.fep127;
    case DType::float32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

/// "; 2 left the range of float16, which ends at 65504"; nothing if none did.
std::string describe_overflows(const char* op, const Tensor& result,
                               std::span<const NamedTensor> operands) {
  const bool is_overwritten = std::string_view(op).ends_with('_');  // what it read is gone
  if (is_complex(result.dtype()) || is_overwritten) return {};
  for (const NamedTensor& operand : operands) {
    if (finiteness_of(*operand.tensor) != Finiteness::finite) return {};
  }
  const int64_t count = count_overflows(op, result, operands);
  if (count <= 0) return {};
  return str("; ", count, " left the range of ", name_of(result.dtype()), ", which ends at ",
             most_of(result.dtype()));
}

const char* rule_of(uint32_t bits) {
  return (bits & gate::kAllowInf) != 0 ? " must not be nan, got " : " must be finite, got ";
}

/// " (float32 [2] named 'w')"; `name`: of what the tensor is the gradient of.
std::string describe_type(const Tensor& tensor, const std::string& name = "") {
  return str(" (", describe_tensor(tensor), name, ')');
}

/// Whether a tensor surely passes all checks with these gate bits: one fast pass over it.
bool looks_finite(const Tensor& tensor, uint32_t bits) {
  return !has_non_finite(tensor, (bits & gate::kAllowInf) != 0);
}

/// What else to try where only gradients are looked at: the fault may have begun in an op.
const char* hint_of_ops(uint32_t bits) {
  if ((bits & gate::kNanCheck) != 0) return "";
  return "\nhint: compute the loss under check_nan_inf(), which names the first op with such a "
         "result";
}

/// "2 nan and 1 inf in 120 elements, the first (nan) at [0, 3]".
std::string describe_non_finite(const Tensor& tensor) { return text_of(count_of(tensor), tensor); }

}  // namespace

void check_result(const char* op, const Tensor& result, std::span<const NamedTensor> operands,
                  bool scalars_are_finite, uint32_t bits, LocationId location) {
  if (looks_finite(result, bits) || !scalars_are_finite) return;
  if (finiteness_of(result) == Finiteness::has_infinity) {
    for (const NamedTensor& operand : operands) {
      if (finiteness_of(*operand.tensor) != Finiteness::finite) return;
    }
  }
  throw NonFiniteError(str(op, ": the result", describe_type(result), rule_of(bits),
                           describe_non_finite(result), describe_overflows(op, result, operands),
                           describe_operands(operands), "\n  at ", explain_location(location),
                           in_module(thread_state.scope)));
}

void check_gradients(const Node& node, std::span<const Tensor> grads,
                     std::span<const Tensor> grad_inputs, uint32_t bits) {
  for (size_t index = 0; index < grad_inputs.size(); ++index) {
    const Tensor& grad = grad_inputs[index];
    if (node.edges()[index].node == nullptr || looks_finite(grad, bits)) continue;
    std::string arrived;
    bool all_finite = true;
    for (size_t output = 0; output < grads.size(); ++output) {
      const NamedTensor one = {grads.size() == 1 ? "the gradient that arrived" : "one that arrived",
                               &grads[output]};
      const std::string text = describe_operand(one);
      if (!text.empty()) arrived += (arrived.empty() ? "; " : ", ") + text;
      all_finite &= finiteness_of(grads[output]) == Finiteness::finite;
    }
    if (finiteness_of(grad) == Finiteness::has_infinity && !all_finite) continue;
    throw NonFiniteError(str(title_of(node), ": the gradient of input ", index,
                             describe_type(grad, naming_of(node.edges()[index])), rule_of(bits),
                             describe_non_finite(grad), arrived,
                             count_of(grad).nans > 0 ? hint_of_ops(bits) : ""));
  }
}

void check_start(const char* call, const char* noun, size_t position, const Tensor& value,
                 uint32_t bits) {
  if (looks_finite(value, bits)) return;
  const Edge made = gradient_edge(value);
  const std::string what = made.node == nullptr ? describe_tensor(value) : describe_place(made);
  throw NonFiniteError(str(call, ": ", noun, ' ', position, " (", what, ')', rule_of(bits),
                           describe_non_finite(value), hint_of_ops(bits)));
}

}  // namespace ebb::autograd
