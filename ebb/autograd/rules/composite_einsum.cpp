// ebb/autograd/rules/composite_einsum.cpp -- einsum: pairs of operands become matrix products.
//
// Of each operand the diagonals are taken first. Then, until one operand is left, the pair whose
// product has the fewest elements is multiplied: dims of both that are still needed are the batch,
// the other dims of both the inner size, and the rest rows and columns. Start reading at einsum().
#include "ebb/autograd/ops.h"
#include "ebb/autograd/record.h"
#include "ebb/autograd/rules/einsum_equation.h"
#include "ebb/ops/infer.h"

namespace ebb {
namespace {

using autograd::einsum::contains;
using autograd::einsum::Equation;
using autograd::einsum::Label;
using autograd::einsum::Labels;

/// A tensor and the labels of its dims, each of which occurs once.
struct Operand {
  Tensor tensor;
  Labels labels;

  int dim_of(Label label) const {
    return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  }
  int64_t size_of(Label label) const {
    return contains(labels, label) ? tensor.size(dim_of(label)) : 1;
  }
  void drop(Label label) { labels.erase(labels.begin() + dim_of(label)); }
};

/// Puts the diagonal in place of two dims of one label, until no label occurs twice.
void take_diagonals(Operand& operand) {
  for (size_t first = 0; first < operand.labels.size(); ++first) {
    for (size_t second = first + 1; second < operand.labels.size(); ++second) {
      const Label label = operand.labels[first];
      if (operand.labels[second] != label) continue;
      const int64_t size = operand.tensor.size(static_cast<int64_t>(first));
      if (operand.tensor.size(static_cast<int64_t>(second)) != size) {
        throw ShapeError(str("einsum: a repeated letter of one operand needs one size, got ",
                             ops::infer::describe(operand.tensor)));
      }
      operand.tensor =
          diagonal(operand.tensor, 0, static_cast<int64_t>(first), static_cast<int64_t>(second));
      operand.labels.erase(operand.labels.begin() + static_cast<int64_t>(second));
      operand.labels.erase(operand.labels.begin() + static_cast<int64_t>(first));
      operand.labels.push_back(label);
      second = first;  // another label stands here now
    }
  }
}

/// Sums over all labels that are not in `kept`.
void sum_others(Operand& operand, const Labels& kept) {
  std::vector<int64_t> dims;
  Labels rest;
  for (size_t dim = 0; dim < operand.labels.size(); ++dim) {
    if (contains(kept, operand.labels[dim])) {
      rest.push_back(operand.labels[dim]);
    } else {
      dims.push_back(static_cast<int64_t>(dim));
    }
  }
  if (dims.empty()) return;
  operand.tensor = sum(operand.tensor, IntSpan(dims), false, operand.tensor.dtype());
  operand.labels = rest;
}

/// A dim of size 1 that the other operand has in full: there it is enough.
void drop_stretched(Operand& operand, const Operand& other) {
  const Labels labels = operand.labels;
  for (const Label label : labels) {
    const bool is_stretched =
        contains(other.labels, label) && operand.size_of(label) == 1 && other.size_of(label) != 1;
    if (!is_stretched) continue;
    operand.tensor = squeeze(operand.tensor, operand.dim_of(label));
    operand.drop(label);
  }
}

/// How many elements some labels of an operand have together.
int64_t extent(const Operand& operand, const Labels& labels) {
  int64_t count = 1;
  for (const Label label : labels) count *= operand.size_of(label);
  return count;
}

/// The operand as [first, second, third], each the dims of some labels as one.
Tensor arranged(const Operand& operand, const Labels& first, const Labels& second,
                const Labels& third) {
  Shape order;
  for (const Labels* const labels : {&first, &second, &third}) {
    for (const Label label : *labels) order.push_back(operand.dim_of(label));
  }
  const Tensor turned = permute(operand.tensor, order);
  return reshape(turned,
                 Shape{extent(operand, first), extent(operand, second), extent(operand, third)});
}

/// The product of two operands, summed over the labels of both that are not in `kept`. Labels of
/// one operand only are all in `kept`.
Operand multiply(Operand left, Operand right, const Labels& kept) {
  drop_stretched(left, right);
  drop_stretched(right, left);
  sum_others(left, [&] {
    Labels needed = kept;
    needed.insert(needed.end(), right.labels.begin(), right.labels.end());
    return needed;
  }());
  sum_others(right, [&] {
    Labels needed = kept;
    needed.insert(needed.end(), left.labels.begin(), left.labels.end());
    return needed;
  }());
  Labels batch, inner, rows, columns;
  for (const Label label : left.labels) {
    const bool is_shared = contains(right.labels, label);
    (!is_shared ? rows : contains(kept, label) ? batch : inner).push_back(label);
  }
  for (const Label label : right.labels) {
    if (!contains(left.labels, label)) columns.push_back(label);
  }
  Shape shape;
  for (const Label label : batch) shape.push_back(left.size_of(label));
  for (const Label label : rows) shape.push_back(left.size_of(label));
  for (const Label label : columns) shape.push_back(right.size_of(label));

  const Tensor a = arranged(left, batch, rows, inner);
  const Tensor b = arranged(right, batch, inner, columns);
  Tensor product;
  if (inner.empty()) {
    product = mul(a, b);  // [batch, rows, 1] * [batch, 1, columns]
  } else if (batch.empty()) {
    product = matmul(select(a, 0, 0), select(b, 0, 0));
  } else {
    product = matmul(a, b);
  }
  Operand out{reshape(product, shape), batch};
  out.labels.insert(out.labels.end(), rows.begin(), rows.end());
  out.labels.insert(out.labels.end(), columns.begin(), columns.end());
  return out;
}

/// The labels that the output or an operand other than two of them has.
Labels needed_without(const std::vector<Operand>& operands, size_t first, size_t second,
                      const Labels& output) {
  Labels needed = output;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i == first || i == second) continue;
    needed.insert(needed.end(), operands[i].labels.begin(), operands[i].labels.end());
  }
  return needed;
}

/// How many elements the product of two operands has.
double cost(const std::vector<Operand>& operands, size_t first, size_t second,
            const Labels& output) {
  const Labels needed = needed_without(operands, first, second, output);
  double count = 1;
  for (const Label label : operands[first].labels) {
    const auto size = std::max(operands[first].size_of(label), operands[second].size_of(label));
    if (contains(needed, label)) count *= static_cast<double>(size);
  }
  for (const Label label : operands[second].labels) {
    const bool is_new = !contains(operands[first].labels, label) && contains(needed, label);
    if (is_new) count *= static_cast<double>(operands[second].size_of(label));
  }
  return count;
}

void multiply_cheapest(std::vector<Operand>& operands, const Labels& output) {
  size_t first = 0;
  size_t second = 1;
  double least = cost(operands, 0, 1, output);
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = i + 1; j < operands.size(); ++j) {
      const double count = cost(operands, i, j, output);
      if (!(count < least)) continue;
      least = count;
      first = i;
      second = j;
    }
  }
  const Labels needed = needed_without(operands, first, second, output);
  operands[first] = multiply(operands[first], operands[second], needed);
  operands.erase(operands.begin() + static_cast<int64_t>(second));
}

}  // namespace

Tensor einsum(std::span<const Tensor> tensors, std::string_view equation) {
  const LocationScope scope(current_location(__builtin_return_address(0)));
  if (tensors.empty()) throw ValueError("einsum: 'tensors' must not be empty, got no tensor");
  for (const Tensor& tensor : tensors) {
    ops::infer::check_defined("einsum", "tensors", tensor);
    if (tensor.dtype() == tensors[0].dtype()) continue;
    throw DTypeError(str("einsum: all operands need one dtype, got ",
                         ops::infer::describe(tensors[0]), " and ", ops::infer::describe(tensor)));
  }
  const Equation parsed = autograd::einsum::parse(equation, tensors);
  std::vector<Operand> operands;
  for (size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back({tensors[i], parsed.operands[i]});
    take_diagonals(operands.back());
  }
  while (operands.size() > 1) multiply_cheapest(operands, parsed.output);
  Operand& last = operands[0];
  sum_others(last, parsed.output);
  Shape order;
  for (const Label label : parsed.output) order.push_back(last.dim_of(label));
  return permute(last.tensor, order);
}

}  // namespace ebb
