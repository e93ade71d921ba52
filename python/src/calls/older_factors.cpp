// python/src/calls/older_factors.cpp -- finds which numbers are meant, and names them.
#include "python/src/calls/older_factors.h"

#include <algorithm>
#include <string_view>

#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"

namespace ebb::python {
namespace {

bool has_number(const OpSpec& spec, std::string_view name, uint8_t flags = 0) {
  return std::any_of(spec.overloads.begin(), spec.overloads.end(), [&](const Overload& overload) {
    return std::any_of(overload.begin(), overload.end(), [&](const Param& param) {
      return param.name == name && param.kind == ArgKind::scalar && (param.flags & flags) == flags;
    });
  });
}

/// The factors of a function in the order in which they stood.
std::vector<const char*> factors_of(const OpSpec& spec) {
  if (has_number(spec, "beta")) return {"beta", "alpha"};
  if (has_number(spec, "alpha")) return {"alpha"};
  if (has_number(spec, "value", kKeywordOnly)) return {"value"};  // that of fills is none
  return {};
}

bool is_factor(PyObject* object) { return PyFloat_Check(object) || PyLong_Check(object); }

}  // namespace

OlderFactors::OlderFactors(const OpSpec& spec, const Call& call) : self_(call.self) {
  std::vector<PyObject*> factors;
  for (Py_ssize_t index = 0; index < call.count; ++index) {
    PyObject* const given = call.args[index];
    if (is_factor(given)) {
      factors.push_back(given);
    } else if (is_tensor(given)) {
      args_.push_back(given);
    } else {
      return;
    }
  }
  const std::vector<const char*> names = factors_of(spec);
  if (factors.empty() || factors.size() > names.size() || args_.empty()) return;
  // A number behind all tensors is none of these; a single factor follows the input, beta precedes.
  const bool begins = is_factor(call.args[0]) || call.self != nullptr;
  if (is_factor(call.args[call.count - 1]) || begins != (names.size() > 1 || self_ != nullptr)) {
    return;
  }
  count_ = static_cast<Py_ssize_t>(args_.size());
  const Py_ssize_t named = call.names == nullptr ? 0 : PyTuple_GET_SIZE(call.names);
  args_.insert(args_.end(), call.args + call.count, call.args + call.count + named);
  args_.insert(args_.end(), factors.begin(), factors.end());
  names_ = Ref(PyTuple_New(named + static_cast<Py_ssize_t>(factors.size())));
  for (Py_ssize_t index = 0; index < named; ++index) {
    PyTuple_SET_ITEM(names_.get(), index, Py_NewRef(PyTuple_GET_ITEM(call.names, index)));
  }
  for (size_t index = 0; index < factors.size(); ++index) {
    PyTuple_SET_ITEM(names_.get(), named + static_cast<Py_ssize_t>(index),
                     checked(PyUnicode_InternFromString(names[index])));
  }
}

}  // namespace ebb::python
