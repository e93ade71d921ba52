// ebb/autograd/composites/linalg/einsum.cpp -- einsum: pairs of operands become matrix products.
//
// Of each operand the diagonals are taken first. Then, until one operand is left, the pair whose
// product has the fewest elements is multiplied: dims of both that are still needed are the batch,
// the other dims of both the inner size, and the rest rows and columns. Start reading at einsum().
#include "ebb/autograd/ops/einsum.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "ebb/autograd/composites/linalg/einsum_equation.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/ops/diagonal.h"
#include "ebb/autograd/ops/matmul.h"
#include "ebb/autograd/ops/mul.h"
#include "ebb/autograd/ops/permute.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/squeeze.h"
#include "ebb/autograd/ops/sum.h"
#include "ebb/autograd/rules/widened.h"
#include "ebb/autograd/watch/composite_call.h"
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
  const DType dtype = autograd::widened(operand.tensor.dtype());
  operand.tensor = sum(operand.tensor, IntSpan(dims), false, dtype);
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

/// A half type beside float32, in which sums and products on the way are kept.
void make_alike(Operand& left, Operand& right) {
  if (left.tensor.dtype() == right.tensor.dtype()) return;
  left.tensor = autograd::widened(left.tensor);
  right.tensor = autograd::widened(right.tensor);
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
  make_alike(left, right);
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

/// Multiplies pairs until one operand is left, always the pair whose product has the fewest
/// elements, of equal ones the first.
//
// A label of two operands that others have too stays one of others, whatever those are multiplied
// with, so what a pair costs does not change while both wait: each pair is weighed once.
class Contraction {
 public:
  Contraction(std::vector<Operand> operands, const Labels& output)
      : operands_(std::move(operands)), left_over_(operands_.size()), stamps_(operands_.size(), 0) {
    count(output, 1);
    for (const Operand& operand : operands_) count(operand.labels, 1);
  }

  Operand run() {
    merge_alike();
    for (size_t second = 1; second < operands_.size(); ++second) {
      for (size_t first = 0; first < second; ++first) weigh(first, second);
    }
    size_t last = 0;
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      if (stamps_[pair.first] != pair.first_stamp) continue;
      if (stamps_[pair.second] != pair.second_stamp) continue;
      last = pair.first;
      merge(pair.first, pair.second);
      for (size_t other = 0; other < operands_.size(); ++other) {
        if (stamps_[other] == kGone || other == last) continue;
        weigh(std::min(last, other), std::max(last, other));
      }
    }
    return std::move(operands_[last]);
  }

 private:
  static constexpr size_t kGone = SIZE_MAX;
  // From here on pairs of operands with the same labels go first, whose product is never larger
  // than they are: what is left has as many operands as there are sets of labels.
  static constexpr size_t kMany = 32;

  struct Pair {
    double elements;
    size_t first, second;
    size_t first_stamp, second_stamp;  // how often each had been replaced when it was weighed
    bool operator<(const Pair& other) const {  // the queue gives the greatest first
      return std::tie(other.elements, other.first, other.second) <
             std::tie(elements, first, second);
    }
  };

  void count(const Labels& labels, int by) {
    for (const Label label : labels) {
      const auto at = static_cast<size_t>(label);
      if (users_.size() <= at) users_.resize(at + 1, 0);
      users_[at] += by;
    }
  }

  /// Whether the output or an operand other than these two has a label that one of them has.
  bool is_needed(Label label, const Operand& left, const Operand& right) const {
    const int own =
        (contains(left.labels, label) ? 1 : 0) + (contains(right.labels, label) ? 1 : 0);
    return users_[static_cast<size_t>(label)] > own;
  }

  void weigh(size_t first, size_t second) {
    const Operand& left = operands_[first];
    const Operand& right = operands_[second];
    double elements = 1;
    for (const Label label : left.labels) {
      if (!is_needed(label, left, right)) continue;
      elements *= static_cast<double>(std::max(left.size_of(label), right.size_of(label)));
    }
    for (const Label label : right.labels) {
      if (contains(left.labels, label) || !is_needed(label, left, right)) continue;
      elements *= static_cast<double>(right.size_of(label));
    }
    pairs_.push({elements, first, second, stamps_[first], stamps_[second]});
  }

  /// Puts the product of two operands in the place of the first.
  void merge(size_t first, size_t second) {
    Operand& left = operands_[first];
    Operand& right = operands_[second];
    Labels kept;
    for (const Labels* const labels : {&left.labels, &right.labels}) {
      for (const Label label : *labels) {
        if (!contains(kept, label) && is_needed(label, left, right)) kept.push_back(label);
      }
    }
    count(left.labels, -1);
    count(right.labels, -1);
    if (--left_over_ > 1) left.tensor = autograd::widened(left.tensor);
    left = multiply(std::move(left), std::move(right), kept);
    count(left.labels, 1);
    ++stamps_[first];
    stamps_[second] = kGone;
  }

  void merge_alike() {
    if (operands_.size() <= kMany) return;
    std::map<Labels, size_t> first_with;
    for (size_t place = 0; place < operands_.size(); ++place) {
      Labels labels = operands_[place].labels;
      std::sort(labels.begin(), labels.end());
      const auto [known, is_new] = first_with.try_emplace(std::move(labels), place);
      if (!is_new) merge(known->second, place);
    }
    std::vector<Operand> left;
    for (size_t place = 0; place < operands_.size(); ++place) {
      if (stamps_[place] != kGone) left.push_back(std::move(operands_[place]));
    }
    operands_ = std::move(left);
    stamps_.assign(operands_.size(), 0);
  }

  std::vector<Operand> operands_;
  size_t left_over_;  // those that are not in another's product yet
  std::vector<size_t>
      stamps_;              // how often an operand was replaced by a product; kGone if it is in one
  std::vector<int> users_;  // by label: how many operands have it, and the output
  std::priority_queue<Pair> pairs_;
};

}  // namespace

Tensor einsum(std::span<const Tensor> tensors, std::string_view equation) {
  const autograd::CompositeCall call("einsum", __builtin_return_address(0));
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
  Operand last = Contraction(std::move(operands), parsed.output).run();
  sum_others(last, parsed.output);
  Shape order;
  for (const Label label : parsed.output) order.push_back(last.dim_of(label));
  return autograd::narrowed(permute(last.tensor, order), tensors[0].dtype());
}

}  // namespace ebb
