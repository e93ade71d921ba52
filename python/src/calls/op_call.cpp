// python/src/calls/op_call.cpp -- see op_call.h.
#include "python/src/calls/op_call.h"

#include <structmember.h>

#include "ebb/autograd/history/op_support.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/copy_.h"
#include "ebb/ops/infer.h"
#include "python/src/base/text.h"

namespace ebb::python {
namespace {

/// A line for each result, as PyTorch shows them.
PyObject* result_repr(PyObject* record) {
  return guarded([&] {
    const auto* const type = Py_TYPE(record);
    std::string shown = str(type->tp_name, "(");
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(record); ++place) {
      const Ref text(PyObject_Repr(PyTuple_GET_ITEM(record, place)));
      shown +=
          str(place > 0 ? "," : "", "\n", type->tp_members[place].name, "=", utf8_of(text.get()));
    }
    return PyUnicode_FromString((shown + ")").c_str());
  });
}

PyTypeObject* make_result_type(const ResultType& wanted) {
  std::vector<PyStructSequence_Field> fields;
  for (const char* part : wanted.parts) fields.push_back({part, nullptr});
  fields.push_back({nullptr, nullptr});
  PyStructSequence_Desc description = {
      .name = wanted.name,
      .doc = "The results of an op, by position or by name.",
      .fields = fields.data(),
      .n_in_sequence = static_cast<int>(wanted.parts.size()),
  };
  PyTypeObject* const type = PyStructSequence_NewType(&description);
  if (type == nullptr) throw ErrorSet();
  type->tp_repr = result_repr;
  PyType_Modified(type);
  return type;
}

/// Whether a product with `columns` results per row of `input` takes about 10 us on one core.
bool takes_long(const Tensor& input, int64_t columns) {
  constexpr double kHeavyProducts = 500'000;
  return static_cast<double>(element_count(input)) * static_cast<double>(columns) > kHeavyProducts;
}

/// Throws if `out` cannot take the result.
void check_out(const char* function, const Tensor& result, const Tensor& out) {
  if (is_grad_enabled() && (result.requires_grad() || out.requires_grad())) {
    autograd::throw_out_requires_grad(function);
  }
  ops::infer::check_out(function, result.sizes(), result.dtype(), out);
}

}  // namespace

bool is_heavy_list(const std::vector<Tensor>& tensors) {
  int64_t total = 0;
  for (const Tensor& tensor : tensors) total += element_count(tensor);
  return total > kHeavyElements;
}

bool is_heavy_product(const Tensor& input, const Tensor& other) {
  if (element_count(other) == 0 || element_count(input) == 0) return false;
  const int64_t columns = other.ndim() < 2 ? 1 : other.sizes().back();
  return takes_long(input, columns) || is_heavy(other);
}

bool is_heavy_product_transposed(const Tensor& input, const Tensor& weight) {
  if (element_count(weight) == 0 || element_count(input) == 0) return false;
  const int64_t columns = weight.ndim() < 1 ? 1 : weight.sizes().front();
  return takes_long(input, columns) || is_heavy(weight);
}

bool is_heavy_size(IntSpan sizes) {
  double count = 1;
  for (const int64_t size : sizes) count *= static_cast<double>(size);
  return count > kHeavyElements;
}

Tensor copied_out(const char* function, const Tensor& result, const Tensor& out) {
  check_out(function, result, out);
  copy_(out, result);
  return out;
}

void copy_all_out(const char* function, std::span<Tensor* const> results,
                  std::span<const Tensor> out) {
  if (results.size() != out.size()) {
    throw ValueError(str(function, ": 'out' needs ", results.size(), " tensors, got ", out.size()));
  }
  // All or nothing is written.
  for (size_t index = 0; index < out.size(); ++index) {
    check_out(function, *results[index], out[index]);
  }
  for (size_t index = 0; index < out.size(); ++index) {
    copy_(out[index], *results[index]);
    *results[index] = out[index];
  }
}

PyObject* result(std::vector<Tensor>&& tensors) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t index = 0; index < tensors.size(); ++index) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(index), wrap(std::move(tensors[index])));
  }
  return tuple.release();
}

PyObject* named_result(ResultType& type, std::span<Tensor> parts) {
  if (type.type == nullptr) type.type = make_result_type(type);
  Ref record(PyStructSequence_New(type.type));
  for (size_t index = 0; index < parts.size(); ++index) {
    PyStructSequence_SetItem(record.get(), static_cast<Py_ssize_t>(index),
                             wrap(std::move(parts[index])));
  }
  return record.release();
}

PyObject* created(Tensor&& tensor, bool requires_grad) {
  if (requires_grad) requires_grad_(tensor);
  return wrap(std::move(tensor));
}

}  // namespace ebb::python
