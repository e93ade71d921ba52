// python/src/parts/init.cpp -- ebb/nn/init.h for ebb.nn.init.
#include "python/src/parts/init.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "ebb/core/base/error.h"
#include "ebb/core/base/random.h"
#include "ebb/nn/init.h"
#include "python/src/base/errors.h"
#include "python/src/base/generator.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/plain_args.h"

namespace ebb::python {
namespace {

namespace init = nn::init;
using Args = PyObject* const*;
constexpr size_t kMostNumbers = 4;
using Numbers = std::array<double, kMostNumbers>;

/// A function that fills a tensor, and the numbers that it takes, as Python calls them.
struct Filler {
  const char* op;
  std::array<const char*, kMostNumbers> names;
  void (*fill)(const Tensor& tensor, const Numbers& numbers);
};

constexpr Filler kFillers[] = {
    {"uniform_",
     {"a", "b"},
     [](const Tensor& t, const Numbers& n) { init::uniform_(t, n[0], n[1]); }},
    {"normal_",
     {"mean", "std"},
     [](const Tensor& t, const Numbers& n) { init::normal_(t, n[0], n[1]); }},
    {"trunc_normal_",
     {"mean", "std", "a", "b"},
     [](const Tensor& t, const Numbers& n) { init::trunc_normal_(t, n[0], n[1], n[2], n[3]); }},
    {"eye_", {}, [](const Tensor& t, const Numbers&) { init::eye_(t); }},
    {"dirac_",
     {"groups"},
     [](const Tensor& t, const Numbers& n) { init::dirac_(t, static_cast<int64_t>(n[0])); }},
    {"sparse_",
     {"sparsity", "std"},
     [](const Tensor& t, const Numbers& n) { init::sparse_(t, n[0], n[1]); }},
    {"xavier_uniform_",
     {"gain"},
     [](const Tensor& t, const Numbers& n) { init::xavier_uniform_(t, n[0]); }},
    {"xavier_normal_",
     {"gain"},
     [](const Tensor& t, const Numbers& n) { init::xavier_normal_(t, n[0]); }},
    {"orthogonal_",
     {"gain"},
     [](const Tensor& t, const Numbers& n) { init::orthogonal_(t, n[0]); }},
};

const Tensor& to_tensor(const char* op, PyObject* object) {
  if (!is_tensor(object)) {
    throw DTypeError(str(op, ": needs a Tensor, got ", type_name(object)));
  }
  return tensor_of(object);
}

double to_float(const char* op, const char* name, PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw DTypeError(str(op, ": argument '", name, "' must be float, got ", type_name(object)));
  }
  return value;
}

const Filler& filler_of(std::string_view op) {
  for (const Filler& one : kFillers) {
    if (one.op == op) return one;
  }
  throw InternalError(str("init: needs the name of an initialiser, got '", op, "'"));
}

/// While it lives, this thread draws from the generator that was given, if not None.
class DrawingFrom {
 public:
  DrawingFrom(const char* op, PyObject* object) {
    if (object == Py_None) return;
    if (!is_generator(object)) {
      throw DTypeError(
          str(op, ": argument 'generator' must be Generator or None, got ", type_name(object)));
    }
    scope_.emplace(generator_of(object));
  }

 private:
  std::optional<GeneratorScope> scope_;
};

// (name, tensor, generator, numbers...)
PyObject* fill(PyObject*, Args args, Py_ssize_t count) {
  return guarded([&] {
    if (count < 1) check_count("init", count, 3);
    const Filler& filler = filler_of(utf8_of(args[0]));
    const auto* const end = std::find(filler.names.begin(), filler.names.end(), nullptr);
    check_count(filler.op, count, 3 + (end - filler.names.begin()));
    const Tensor tensor = to_tensor(filler.op, args[1]);
    const DrawingFrom source(filler.op, args[2]);
    Numbers numbers{};
    for (Py_ssize_t i = 3; i < count; ++i) {
      const auto position = static_cast<size_t>(i - 3);
      numbers.at(position) = to_float(filler.op, filler.names.at(position), args[i]);
    }
    {
      const ReleaseGil released;
      filler.fill(tensor, numbers);
    }
    return Py_NewRef(args[1]);
  });
}

// (name, tensor, generator, a, mode, nonlinearity)
PyObject* fill_kaiming(PyObject*, Args args, Py_ssize_t count) {
  check_count("kaiming", count, 6);
  const bool is_normal = std::string_view(utf8_of(args[0])) == "kaiming_normal_";
  const char* const op = is_normal ? "kaiming_normal_" : "kaiming_uniform_";
  const Tensor tensor = to_tensor(op, args[1]);
  const DrawingFrom source(op, args[2]);
  const double a = to_float(op, "a", args[3]);
  const init::FanMode mode = init::fan_mode_of(op, utf8_of(args[4]));
  const init::Nonlinearity nonlinearity = init::nonlinearity_of(op, utf8_of(args[5]));
  {
    const ReleaseGil released;
    (is_normal ? init::kaiming_normal_ : init::kaiming_uniform_)(tensor, a, mode, nonlinearity);
  }
  return Py_NewRef(args[1]);
}

// (nonlinearity, slope)
PyObject* gain(PyObject*, Args args, Py_ssize_t count) {
  const char* const op = "calculate_gain";
  check_count(op, count, 2);
  const init::Nonlinearity nonlinearity = init::nonlinearity_of(op, utf8_of(args[0]));
  return PyFloat_FromDouble(init::calculate_gain(nonlinearity, to_float(op, "param", args[1])));
}

PyMethodDef kFunctions[] = {
    {"_init", as_method(fill), METH_FASTCALL, nullptr},
    {"_init_kaiming", guarded_method<fill_kaiming>(), METH_FASTCALL, nullptr},
    {"_init_gain", guarded_method<gain>(), METH_FASTCALL, nullptr},
    {},
};

}  // namespace

void add_init(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
