// python/src/calls/op_call.h -- what generated op functions are made of: when to release the GIL,
// and how results become Python objects.
//
// Releasing the lock costs 25 ns, more than a small op; it pays from about 10 us of work. The work
// is judged by the size of the operands.
#pragma once

#include <array>
#include <initializer_list>
#include <tuple>
#include <vector>

#include "python/src/base/default_dtype.h"
#include "python/src/base/generator.h"
#include "python/src/base/tensor_object.h"
#include "python/src/calls/args.h"
#include "python/src/calls/overrides.h"

namespace ebb::python {

/// Elements from which an op takes about 10 us.
inline constexpr int64_t kHeavyElements = 64 * 1024;

inline int64_t element_count(const Tensor& tensor) {
  return tensor.impl() == nullptr ? 0 : tensor.impl()->numel;
}
template <typename... Tensors>
bool is_heavy(const Tensors&... tensors) {
  return ((element_count(tensors) > kHeavyElements) || ...);
}
bool is_heavy_list(const std::vector<Tensor>& tensors);
/// A matrix product costs more than its operands' sizes tell.
bool is_heavy_product(const Tensor& input, const Tensor& other);
bool is_heavy_product_transposed(const Tensor& input, const Tensor& weight);
/// An op that copies only what is not contiguous.
inline bool is_heavy_copy(const Tensor& tensor) {
  return is_heavy(tensor) && !tensor.is_contiguous();
}
/// A creation function, by the sizes asked for.
bool is_heavy_size(IntSpan sizes);

/// Calls body(tensors...), with the GIL released if the work is heavy. Other threads may give an
/// object of Python another tensor then (`set_`, `resize_`): what the body reads is held meanwhile,
/// and is as it was.
template <typename Body, typename... Tensors>
auto run(bool heavy, Body&& body, const Tensors&... tensors) {
  if (!heavy) [[likely]]
    return body(tensors...);
  const std::tuple<Tensors...> held(tensors...);
  const ReleaseGil unlocked;
  return std::apply(body, held);
}

inline PyObject* result(Tensor&& tensor) { return wrap(std::move(tensor)); }
/// Several tensors: a tuple.
PyObject* result(std::vector<Tensor>&& tensors);

/// The type of a result with named parts, such as (values, indices); made when first needed.
struct ResultType {
  const char* name;
  std::initializer_list<const char*> parts;
  PyTypeObject* type = nullptr;
};
PyObject* named_result(ResultType& type, std::span<Tensor> parts);
template <typename... Parts>
PyObject* result(ResultType& type, std::tuple<Parts...>&& parts) {
  auto list = std::apply(
      [](auto&... part) { return std::array<Tensor, sizeof...(Parts)>{std::move(part)...}; },
      parts);
  return named_result(type, list);
}

/// `out=` of an op that has no form of its own for it: its result copied to `out`, which is given
/// back. Throws ShapeError, DTypeError or AutogradError, naming the function.
Tensor copied_out(const char* function, const Tensor& result, const Tensor& out);
/// The same for several results. Throws ValueError if `out` has not as many tensors.
void copy_all_out(const char* function, std::span<Tensor* const> results,
                  std::span<const Tensor> out);
template <typename... Parts>
std::tuple<Parts...> copied_out(const char* function, std::tuple<Parts...>&& results,
                                const std::vector<Tensor>& out) {
  std::apply([&](auto&... part) { copy_all_out(function, std::array{&part...}, out); }, results);
  return std::move(results);
}

/// The new tensor of a creation function, as a leaf if asked for.
PyObject* created(Tensor&& tensor, bool requires_grad);

/// A function of the module ebb.<space>, and its name in `_C._ops`, or null for a second name.
struct SpacedFunction {
  const char* space;
  PyMethodDef row;
  const char* key;
};

/// What one family of ops adds to Python: rows that end with an empty one.
struct OpTable {
  PyMethodDef* functions;  // of the module
  PyMethodDef* methods;    // of Tensor
  PyMethodDef* hidden;     // for tests only
  SpacedFunction* spaced;  // of modules such as ebb.linalg
  /// Ops that are recorded as nodes of their own, with their overload, and an empty name.
  std::span<const std::string_view> recorded;
};
/// All generated tables (generated: python/op_tables.cpp).
std::span<const OpTable> op_tables();

}  // namespace ebb::python
