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

enum PointwiseMode : int {  // cudnnPointwiseMode_t
  CUDNN_POINTWISE_ADD = 0,
  CUDNN_POINTWISE_MUL = 1,
  CUDNN_POINTWISE_DIV = 6,
  CUDNN_POINTWISE_SUB = 9,
  CUDNN_POINTWISE_EXP = 13,
  CUDNN_POINTWISE_LOG = 15,
  CUDNN_POINTWISE_CMP_GE = 303,
  CUDNN_POINTWISE_GEN_INDEX = 501,
  CUDNN_POINTWISE_BINARY_SELECT = 601,
};
enum ReduceTensorOp : int { CUDNN_REDUCE_TENSOR_ADD = 0, CUDNN_REDUCE_TENSOR_MAX = 3 };
enum DataType : int { CUDNN_DATA_INT32 = 4, CUDNN_DATA_BOOLEAN = 11 };
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
  const Part& top = reduce(CUDNN_REDUCE_TENSOR_MAX, scores, rows_);
  const Part &shifted = inner(wide_, scores_), &powers = inner(wide_, scores_);
  apply(CUDNN_POINTWISE_SUB, scores, &top, shifted);
  apply(CUDNN_POINTWISE_EXP, shifted, nullptr, powers);
  const Part& sum = reduce(CUDNN_REDUCE_TENSOR_ADD, powers, rows_);
  const Part& logarithm = inner(wide_, rows_);
  apply(CUDNN_POINTWISE_LOG, sum, nullptr, logarithm);
  apply(CUDNN_POINTWISE_ADD, top, &logarithm,
        tensor(Number::logsumexp, Role::outer, wide_, rows_, dense_strides(rows_)));
  const Part& weights = inner(type_, scores_);
  apply(CUDNN_POINTWISE_DIV, powers, &sum, weights);
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
  apply(CUDNN_POINTWISE_MUL, products, &host_number(Number::scale), scores);
  return scores;
}

const Part& AttentionGraph::only_seen(const Part& scores) {
  const Part &row = inner(CUDNN_DATA_INT32, scores_), &column = inner(CUDNN_DATA_INT32, scores_);
  apply(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, row, nullptr, 2);
  apply(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, column, nullptr, 3);
  const Part& is_seen = inner(CUDNN_DATA_BOOLEAN, scores_);
  apply(CUDNN_POINTWISE_CMP_GE, row, &column, is_seen);
  const Part& seen = inner(wide_, scores_);
  apply(CUDNN_POINTWISE_BINARY_SELECT, scores, &host_number(Number::hidden), seen, &is_seen);
  return seen;
}

const Part& AttentionGraph::tensor(int64_t number, Role role, int type, const Four& sizes,
                                   const Four& strides) {
  Part& made = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR, parts_);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  const bool yes = true;
  if (role == Role::inner) made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
  if (role == Role::number) made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
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
  Part& how = add(CUDNN_BACKEND_MATMUL_DESCRIPTOR, parts_);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &wide_);
  how.finalize();
  Part& operation = add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, operations_);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, left);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, right);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, out);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  operation.finalize();
}

void AttentionGraph::apply(int mode, const Part& x, const Part* other, const Part& y,
                           const Part* where, int64_t dim) {
  Part& how = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, parts_);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  const int type = mode == CUDNN_POINTWISE_CMP_GE ? CUDNN_DATA_BOOLEAN : wide_;
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  if (mode == CUDNN_POINTWISE_GEN_INDEX) how.set(CUDNN_ATTR_POINTWISE_AXIS, dim);
  how.finalize();
  Part& operation = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, operations_);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (other != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other);
  if (where != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *where);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finalize();
}

const Part& AttentionGraph::reduce(int how_to, const Part& x, const Four& sizes) {
  const Part& y = inner(wide_, sizes);
  Part& how = add(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, parts_);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how_to);
  how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &wide_);
  how.finalize();
  Part& operation = add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, operations_);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  operation.finalize();
  return y;
}

Part& AttentionGraph::add(PartType type, std::deque<Part>& to) { return to.emplace_back(type); }

void AttentionGraph::finish() {
  std::vector<Descriptor> all;
  for (const Part& operation : operations_) all.push_back(operation.get());
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(all.size()), all.data());
  graph_.finalize();
}

}  // namespace ebb::cuda
