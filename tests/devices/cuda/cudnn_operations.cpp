// tests/devices/cuda/cudnn_operations.cpp -- the operations of a graph of cuDNN, one after
// the other. See stand_in.h.
//
// They are computed in double from what tensors hold when their turn on the stream comes; what a
// tensor of a half type holds, between operations as well, is rounded. Numbers of the host are read
// when the graph is queued.
#include <algorithm>
#include <array>

#include "tests/devices/cuda/cudnn_parts.h"

namespace stand_in {
namespace {

constexpr const char* kCall = "cudnnBackendExecute";

/// A tensor: where it is, if it is not between operations, and what it holds, in order.
struct Array {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::array<int64_t, 4> sizes{}, strides{};
  char* data = nullptr;  // of the device
  bool is_known = false;
  std::vector<double> values;

  size_t count() const { return static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]); }
  size_t item() const { return item_size(kind_of(type)); }
  /// The place of an element in memory, in bytes.
  size_t place(size_t number) const {
    int64_t place = 0;
    for (size_t dim = 4; dim-- > 0;) {
      place += static_cast<int64_t>(number) % sizes[dim] * strides[dim];
      number /= static_cast<size_t>(sizes[dim]);
    }
    return static_cast<size_t>(place) * item();
  }
  void read() {
    values.resize(count());
    for (size_t number = 0; number < count(); ++number) {
      values[number] = load(data + place(number), kind_of(type));
    }
  }
  void write() const {
    for (size_t number = 0; number < count(); ++number) {
      store(data + place(number), kind_of(type), values[number]);
    }
  }
  void round() {
    if (type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16) return;
    for (double& value : values) {
      char rounded[2];
      store(rounded, kind_of(type), value);
      value = load(rounded, kind_of(type));
    }
  }
  /// The element that belongs to element `number` of `other`: dims of size 1 have one for all, and
  /// heads are shared evenly.
  double element_for(const Array& other, size_t number) const {
    size_t found = 0, step = 1;
    for (size_t dim = 4; dim-- > 0;) {
      const auto index = static_cast<int64_t>(number) % other.sizes[dim];
      number /= static_cast<size_t>(other.sizes[dim]);
      found += static_cast<size_t>(index * sizes[dim] / other.sizes[dim]) * step;
      step *= static_cast<size_t>(sizes[dim]);
    }
    return values[found];
  }
};

/// The index along a dim of element `number`.
double index_at(const Array& of, size_t number, size_t along) {
  for (size_t dim = 3; dim > along; --dim) number /= static_cast<size_t>(of.sizes[dim]);
  return static_cast<double>(static_cast<int64_t>(number) % of.sizes[along]);
}

double computed(cudnnPointwiseMode_t mode, double x, double other, double where) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + other;
    case CUDNN_POINTWISE_SUB: return x - other;
    case CUDNN_POINTWISE_MUL: return x * other;
    case CUDNN_POINTWISE_DIV: return x / other;
    case CUDNN_POINTWISE_EXP: return std::exp(x);
    case CUDNN_POINTWISE_LOG: return std::log(x);
    case CUDNN_POINTWISE_CMP_GE: return x >= other ? 1 : 0;
    case CUDNN_POINTWISE_BINARY_SELECT: return where != 0 ? x : other;
    default: violate("a pointwise operation: mode " + std::to_string(mode)); return 0;
  }
}

/// A run of a graph.
class Run {
 public:
  Run(std::shared_ptr<Part> graph, const Part& pack, int device) : graph_(std::move(graph)) {
    for (const auto& operation : operations()) {
      for (const Values& values : operation->values) {
        if (values.parts[0]->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
          add(*values.parts[0], pack, device);
        }
      }
    }
  }

  void run() {
    for (const auto& operation : operations()) {
      switch (operation->type) {
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: multiply(*operation); break;
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: apply(*operation); break;
        default: reduce(*operation); break;
      }
    }
  }

 private:
  const std::vector<std::shared_ptr<Part>>& operations() const {
    return graph_->find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->parts;
  }
  static int64_t number_of(const Part& tensor) {
    return tensor.find(CUDNN_ATTR_TENSOR_UNIQUE_ID)->at<int64_t>(0);
  }
  static bool is(const Part& tensor, cudnnBackendAttributeName_t name) {
    const Values* const found = tensor.find(name);
    return found != nullptr && found->at<bool>(0);
  }

  void add(const Part& tensor, const Part& pack, int device) {
    const auto [place, is_new] = tensors_.emplace(number_of(tensor), &tensor);
    if (!is_new) {
      if (place->second != &tensor) violate("a graph: two tensors of one number");
      return;
    }
    Array& made = arrays_[number_of(tensor)];
    made.type = tensor.find(CUDNN_ATTR_TENSOR_DATA_TYPE)->at<cudnnDataType_t>(0);
    for (size_t dim = 0; dim < 4; ++dim) {
      made.sizes[dim] = tensor.find(CUDNN_ATTR_TENSOR_DIMENSIONS)->at<int64_t>(dim);
      made.strides[dim] = tensor.find(CUDNN_ATTR_TENSOR_STRIDES)->at<int64_t>(dim);
      if (made.sizes[dim] < 1 || made.strides[dim] < 1) violate("a tensor: sizes or strides");
    }
    if (is(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) return;
    made.data = data_of(pack, number_of(tensor));
    if (is(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
      made.read();
      made.is_known = true;
      made.data = nullptr;
      return;
    }
    const auto address = reinterpret_cast<CUdeviceptr>(made.data);
    const auto alignment = tensor.find(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)->at<int64_t>(0);
    if (address % static_cast<CUdeviceptr>(alignment) != 0) violate("a tensor: alignment");
    need_range(kCall, address, made.place(made.count() - 1) + made.item(), device);
  }

  /// Where the pack has the tensor of this number.
  static char* data_of(const Part& pack, int64_t number) {
    const Values* const numbers = pack.find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const Values* const pointers = pack.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t index = 0; index < static_cast<size_t>(numbers->count); ++index) {
      if (numbers->at<int64_t>(index) == number && numbers->count == pointers->count) {
        return static_cast<char*>(pointers->at<void*>(index));
      }
    }
    violate("a pack: without tensor " + std::to_string(number));
    static char none[8] = {};
    return none;
  }

  const Array& input(const Part& operation, cudnnBackendAttributeName_t name) {
    Array& found = arrays_[number_of(*operation.part(name))];
    if (!found.is_known && found.data == nullptr) violate("a graph: reads what nobody wrote");
    if (!found.is_known) found.read();
    found.values.resize(found.count());
    found.is_known = true;
    return found;
  }
  Array& output(const Part& operation, cudnnBackendAttributeName_t name) {
    Array& found = arrays_[number_of(*operation.part(name))];
    if (found.is_known) violate("a graph: writes a tensor twice");
    found.values.assign(found.count(), 0.0);
    return found;
  }
  static void finish(Array& out) {
    out.round();
    out.is_known = true;
    if (out.data != nullptr) out.write();
  }

  void multiply(const Part& operation) {
    const Array& left = input(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const Array& right = input(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    Array& out = output(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    const int64_t inner = left.sizes[3], columns = out.sizes[3], rows = out.sizes[2];
    if (right.sizes[2] != inner || right.sizes[3] != columns || left.sizes[2] != rows ||
        out.sizes[1] % right.sizes[1] != 0) {
      return violate("a product: sizes");
    }
    for (size_t number = 0; number < out.count(); ++number) {
      const auto row = static_cast<int64_t>(number) / columns;  // of all heads
      const int64_t head = row / rows % out.sizes[1], batch = row / rows / out.sizes[1];
      const int64_t right_head = batch * right.sizes[1] + head * right.sizes[1] / out.sizes[1];
      for (int64_t k = 0; k < inner; ++k) {
        const int64_t column = static_cast<int64_t>(number) % columns;
        out.values[number] +=
            left.values[static_cast<size_t>(row * inner + k)] *
            right.values[static_cast<size_t>((right_head * inner + k) * columns + column)];
      }
    }
    finish(out);
  }

  void apply(const Part& operation) {
    const Part& how = *operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const auto mode = how.find(CUDNN_ATTR_POINTWISE_MODE)->at<cudnnPointwiseMode_t>(0);
    const auto optional = [&](cudnnBackendAttributeName_t name) {
      return operation.part(name) != nullptr ? &input(operation, name) : nullptr;
    };
    const Array& x = input(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const Array* const other = optional(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const Array* const where = optional(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    Array& out = output(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    for (size_t number = 0; number < out.count(); ++number) {
      const double second = other != nullptr ? other->element_for(out, number) : 0;
      const double third = where != nullptr ? where->element_for(out, number) : 0;
      out.values[number] =
          mode == CUDNN_POINTWISE_GEN_INDEX
              ? index_at(out, number, how.find(CUDNN_ATTR_POINTWISE_AXIS)->at<int64_t>(0))
              : computed(mode, x.element_for(out, number), second, third);
    }
    finish(out);
  }

  void reduce(const Part& operation) {
    const Part& how = *operation.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    const auto mode = how.find(CUDNN_ATTR_REDUCTION_OPERATOR)->at<cudnnReduceTensorOp_t>(0);
    const Array& x = input(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    Array& out = output(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    if (mode != CUDNN_REDUCE_TENSOR_ADD && mode != CUDNN_REDUCE_TENSOR_MAX) {
      violate("a reduction: mode " + std::to_string(mode));
    }
    const size_t columns = x.count() / out.count();
    for (size_t number = 0; number < out.count(); ++number) {
      double total = x.values[number * columns];
      for (size_t column = 1; column < columns; ++column) {
        const double value = x.values[number * columns + column];
        total = mode == CUDNN_REDUCE_TENSOR_ADD ? total + value : std::max(total, value);
      }
      out.values[number] = total;
    }
    finish(out);
  }

  std::shared_ptr<Part> graph_;
  std::map<int64_t, const Part*> tensors_;
  std::map<int64_t, Array> arrays_;
};

}  // namespace

cudnnStatus_t queue_graph(const CudnnHandle& handle, const std::shared_ptr<Part>& graph,
                          const Part& pack) {
  const auto run = std::make_shared<Run>(graph, pack, handle.device);
  return queue(kCall, handle.stream, [run] { run->run(); }) == CUDA_SUCCESS
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace stand_in
