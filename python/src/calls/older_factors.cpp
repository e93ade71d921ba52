// python/src/calls/older_factors.cpp -- finds which numbers are meant, and names them.
#include "python/src/calls/older_factors.h"

#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"

namespace ebb::python {
namespace {

bool is_factor(PyObject* object) { return PyFloat_Check(object) || PyLong_Check(object); }

}  // namespace

OlderFactors::OlderFactors(std::span<const char* const> names, const Call& call)
    : self_(call.self) {
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
  if (factors.empty() || factors.size() > names.size() || args_.empty()) return;
  // A number behind all tensors is none of these; a single factor follows the input, beta precedes.
  const bool begins = is_factor(call.args[0]) || call.self != nullptr;
  if (is_factor(call.args[call.count - 1]) || begins != (names.size() > 1 || self_ != nullptr)) {
    return;
  }
  count_ = static_cast<Py_ssize_t>(args_.size());
  args_.insert(args_.end(), call.args + call.count, call.args + call.count + call.named());
  args_.insert(args_.end(), factors.begin(), factors.end());
  names_ = names_with(call, names.first(factors.size()));
}

}  // namespace ebb::python
