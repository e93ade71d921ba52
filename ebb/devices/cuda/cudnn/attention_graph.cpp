// ebb/devices/cuda/cudnn/attention_graph.cpp -- the operations of attention, one after the other.
//
//     scores = scale * query key^T, hidden where the column is greater than the row
//     top = max(scores), powers = exp(scores - top), sum = sum(powers)
//     logsumexp = top + log(sum), out = (powers / sum) value
//
// cuDNN knows the pattern and computes it as one kernel, which keeps no scores. Start reading at
// AttentionGraph::AttentionGraph().
#include "ebb/devices/cuda/cudnn/attention_graph.h"

#include <utility>

namespace ebb::cuda {
namespace {

// cudnnPointwiseMode_t.
constexpr int kAdd = 0, kMultiply = 1, kDivide = 6, kSubtract = 9, kExp = 13, kLog = 15;
constexpr int kIsAtLeast = 303, kIndex = 501, kSelect = 601;
constexpr int kSumOf = 0, kMaxOf = 3;     // cudnnReduceTensorOp_t
constexpr int kInt32 = 4, kBoolean = 11;  // cudnnDataType_t
constexpr Four kOne{1, 1, 1, 1};

Four dense_strides(const Four& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

}  // namespace

Four tidy_strides(const devices::AttentionSide& side) {
  Four strides = side.strides;
  for (size_t dim = 3; dim-- > 0;) {
    if (side.sizes[dim] == 1) strides[dim] = side.sizes[dim + 1] * strides[dim + 1];
  }
  return strides;
}

AttentionGraph::AttentionGraph(const devices::Attention& attention)
    : type_(*cudnn_type(attention.dtype)),
      wide_(*cudnn_type(DType::float32)),
      scores_{attention.query.sizes[0], attention.query.sizes[1], attention.query.sizes[2],
              attention.key.sizes[2]},
      rows_{scores_[0], scores_[1], scores_[2], 1} {
  const Part& raw = scores_of(attention);
  const Part& scores = attention.is_causal ? only_seen(raw) : raw;
  const Part& top = reduce(kMaxOf, scores, rows_);
  const Part &shifted = inner(wide_, scores_), &powers = inner(wide_, scores_);
  apply(kSubtract, scores, &top, shifted);
  apply(kExp, shifted, nullptr, powers);
  const Part& sum = reduce(kSumOf, powers, rows_);
  const Part& logarithm = inner(wide_, rows_);
  apply(kLog, sum, nullptr, logarithm);
  apply(kAdd, top, &logarithm,
        tensor(Number::logsumexp, Role::outer, wide_, rows_, dense_strides(rows_)));
  const Part& weights = inner(type_, scores_);
  apply(kDivide, powers, &sum, weights);
  multiply(weights, side(Number::value, attention.value), side(Number::out, attention.out));
  finish();
}

const Part& AttentionGraph::scores_of(const devices::Attention& attention) {
  devices::AttentionSide turned = attention.key;
  turned.strides = tidy_strides(turned);
  std::swap(turned.sizes[2], turned.sizes[3]);
  std::swap(turned.strides[2], turned.strides[3]);
  const Part& products = inner(wide_, scores_);
  multiply(side(Number::query, attention.query),
           tensor(Number::key, Role::outer, type_, turned.sizes, turned.strides), products);
  const Part& scores = inner(wide_, scores_);
  apply(kMultiply, products, &host_number(Number::scale), scores);
  return scores;
}

const Part& AttentionGraph::only_seen(const Part& scores) {
  const Part &row = inner(kInt32, scores_), &column = inner(kInt32, scores_);
  apply(kIndex, scores, nullptr, row, nullptr, 2);
  apply(kIndex, scores, nullptr, column, nullptr, 3);
  const Part& is_seen = inner(kBoolean, scores_);
  apply(kIsAtLeast, row, &column, is_seen);
  const Part& seen = inner(wide_, scores_);
  apply(kSelect, scores, &host_number(Number::hidden), seen, &is_seen);
  return seen;
}

const Part& AttentionGraph::tensor(int64_t number, Role role, int type, const Four& sizes,
                                   const Four& strides) {
  Part& made = add(PartType::tensor, parts_);
  made.set(Attribute::tensor_type, ElementType::data_type, 1, &type);
  made.set(Attribute::tensor_sizes, sizes);
  made.set(Attribute::tensor_strides, strides);
  made.set(Attribute::tensor_number, number);
  made.set(Attribute::tensor_alignment, kAlignment);
  const bool yes = true;
  if (role == Role::inner) made.set(Attribute::tensor_virtual, ElementType::boolean, 1, &yes);
  if (role == Role::number) made.set(Attribute::tensor_by_value, ElementType::boolean, 1, &yes);
  made.finalize();
  return made;
}
const Part& AttentionGraph::side(int64_t number, const devices::AttentionSide& side) {
  return tensor(number, Role::outer, type_, side.sizes, tidy_strides(side));
}
const Part& AttentionGraph::host_number(int64_t number) {
  return tensor(number, Role::number, wide_, kOne, kOne);
}
const Part& AttentionGraph::inner(int type, const Four& sizes) {
  return tensor(next_++, Role::inner, type, sizes, dense_strides(sizes));
}

void AttentionGraph::multiply(const Part& left, const Part& right, const Part& out) {
  Part& how = add(PartType::product, parts_);
  how.set(Attribute::product_type, ElementType::data_type, 1, &wide_);
  how.finalize();
  Part& operation = add(PartType::product_operation, operations_);
  operation.set(Attribute::product_left, left);
  operation.set(Attribute::product_right, right);
  operation.set(Attribute::product_out, out);
  operation.set(Attribute::product_how, how);
  operation.finalize();
}

void AttentionGraph::apply(int mode, const Part& x, const Part* other, const Part& y,
                           const Part* where, int64_t dim) {
  Part& how = add(PartType::pointwise, parts_);
  how.set(Attribute::pointwise_mode, ElementType::pointwise_mode, 1, &mode);
  const int type = mode == kIsAtLeast ? kBoolean : wide_;
  how.set(Attribute::pointwise_type, ElementType::data_type, 1, &type);
  if (mode == kIndex) how.set(Attribute::pointwise_dim, dim);
  how.finalize();
  Part& operation = add(PartType::pointwise_operation, operations_);
  operation.set(Attribute::pointwise_how, how);
  operation.set(Attribute::pointwise_x, x);
  if (other != nullptr) operation.set(Attribute::pointwise_other, *other);
  if (where != nullptr) operation.set(Attribute::pointwise_where, *where);
  operation.set(Attribute::pointwise_y, y);
  operation.finalize();
}

const Part& AttentionGraph::reduce(int how_to, const Part& x, const Four& sizes) {
  const Part& y = inner(wide_, sizes);
  Part& how = add(PartType::reduction, parts_);
  how.set(Attribute::reduction_operator, ElementType::reduction_operator, 1, &how_to);
  how.set(Attribute::reduction_type, ElementType::data_type, 1, &wide_);
  how.finalize();
  Part& operation = add(PartType::reduction_operation, operations_);
  operation.set(Attribute::reduction_x, x);
  operation.set(Attribute::reduction_y, y);
  operation.set(Attribute::reduction_how, how);
  operation.finalize();
  return y;
}

Part& AttentionGraph::add(PartType type, std::deque<Part>& to) { return to.emplace_back(type); }

void AttentionGraph::finish() {
  std::vector<Descriptor> all;
  for (const Part& operation : operations_) all.push_back(operation.get());
  graph_.set(Attribute::graph_operations, ElementType::part, static_cast<int64_t>(all.size()),
             all.data());
  graph_.finalize();
}

}  // namespace ebb::cuda
