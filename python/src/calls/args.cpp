// python/src/calls/args.cpp -- choosing an overload, and what to say when none fits.
#include "python/src/calls/args.h"

#include <algorithm>
#include <cstring>

#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/ops/full.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/tensor_name.h"
#include "python/src/base/default_dtype.h"
#include "python/src/base/errors.h"
#include "python/src/base/generator.h"
#include "python/src/base/numpy_types.h"
#include "python/src/base/text.h"
#include "python/src/base/value_types.h"
#include "python/src/calls/averaging.h"
#include "python/src/calls/ordered_call.h"
#include "python/src/calls/overrides.h"

namespace ebb::python {
namespace {

/// Why an overload does not fit.
struct Failure {
  enum class What : uint8_t { none, too_many, missing, unknown_keyword, duplicate, kind };
  What what = What::none;
  int index = -1;           // of the parameter, where there is one
  PyObject* got = nullptr;  // the argument, or the keyword
};

bool is_integer_tensor(PyObject* object) {
  if (!is_tensor(object)) return true;
  const Tensor& tensor = tensor_of(object);
  return tensor.defined() && tensor.ndim() == 0 && is_integer(tensor.dtype());
}
/// A bool is none, though Python counts it so: sum(x, True) means keepdim, var(x, False) unbiased.
bool is_int(PyObject* object) {
  if (PyLong_CheckExact(object)) return true;
  if (PyBool_Check(object) || is_numpy_bool(object)) return false;
  return PyIndex_Check(object) && !is_numpy_array(object) && is_integer_tensor(object);
}
bool is_sequence(PyObject* object) {
  if (PyTuple_Check(object) || PyList_Check(object)) return true;
  return PySequence_Check(object) != 0 && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !PyDict_Check(object) && !is_tensor(object);
}
/// Throws CallsOverride for one whose class wants the whole call.
bool is_tensor_argument(PyObject* object) {
  if (!is_tensor(object)) return false;
  if (detail::overrides_exist && has_override(object)) throw CallsOverride();
  return true;
}
bool is_scalar_tensor(PyObject* object) {
  return is_tensor_argument(object) && tensor_of(object).defined() && tensor_of(object).ndim() == 0;
}
bool is_float(PyObject* object) {
  if (is_number(object)) return !PyComplex_Check(object);
  return is_scalar_tensor(object) && !is_complex(tensor_of(object).dtype());
}

bool fits(const Param& param, PyObject* object) {
  if (object == Py_None && (param.flags & kNoneAllowed) != 0) return true;
  switch (param.kind) {
    case ArgKind::object: return true;
    case ArgKind::tensor: return is_tensor_argument(object);
    case ArgKind::tensor_list: return is_sequence(object);
    case ArgKind::scalar: return is_number(object) || is_scalar_tensor(object);
    case ArgKind::integer: return is_int(object);
    case ArgKind::int_list: return is_sequence(object) || is_int(object);
    case ArgKind::boolean: return PyBool_Check(object) || is_numpy_bool(object);
    case ArgKind::floating: return is_float(object);
    case ArgKind::text: return PyUnicode_Check(object);
    case ArgKind::dtype: return to_dtype(object).has_value();
    case ArgKind::device: return is_device(object) || PyUnicode_Check(object);
    case ArgKind::reduction: return PyUnicode_Check(object);
    case ArgKind::generator: return is_generator(object);
  }
  return false;
}

const char* kind_name(ArgKind kind) {
  switch (kind) {
    case ArgKind::object: return "object";
    case ArgKind::tensor: return "Tensor";
    case ArgKind::tensor_list: return "sequence of Tensors";
    case ArgKind::scalar: return "number";
    case ArgKind::integer: return "int";
    case ArgKind::int_list: return "int or sequence of ints";
    case ArgKind::boolean: return "bool";
    case ArgKind::floating: return "float";
    case ArgKind::text: return "str";
    case ArgKind::dtype: return "ebb.dtype";
    case ArgKind::device: return "ebb.device or str";
    case ArgKind::reduction: return "str";
    case ArgKind::generator: return "ebb.Generator";
  }
  return "?";
}

/// Other libraries' words for our names.
std::string_view canonical_name(std::string_view name) {
  if (name == "axis") return "dim";
  if (name == "keepdims") return "keepdim";
  return name;
}

int find_named(Overload overload, std::string_view wanted) {
  for (size_t index = 0; index < overload.size(); ++index) {
    if (overload[index].name == wanted) return static_cast<int>(index);
  }
  return -1;
}

int find_param(const OpSpec& spec, Overload overload, PyObject* name) {
  for (size_t index = 0; index < overload.size(); ++index) {
    if (overload[index].interned == name) return static_cast<int>(index);
  }
  const std::string_view wanted = canonical_name(utf8_of(name));
  if (const int index = find_named(overload, wanted); index >= 0) return index;
  for (const Spelling& spelling : spec.spellings) {
    if (spelling.spelled != wanted) continue;
    if (const int index = find_named(overload, spelling.name); index >= 0) return index;
  }
  return -1;
}

[[noreturn]] void throw_option(const OpSpec& spec, std::string_view name, std::string_view needs,
                               PyObject* value) {
  throw DTypeError(
      str(spec.name, "(): argument '", name, "' must be ", needs, ", got ", type_name(value)));
}

/// Whether a keyword without a parameter asks for what is done without it; throws if for more.
bool is_met_anyway(const OpSpec& spec, PyObject* keyword, PyObject* value) {
  if (spec.options == 0) return false;
  const std::string_view name = utf8_of(keyword);
  if ((spec.options & kFormatOption) != 0 && name == "memory_format") return value == Py_None;
  if ((spec.options & kPinOption) != 0 && name == "pin_memory") {
    if (value != Py_None && !PyBool_Check(value)) throw_option(spec, name, "bool", value);
    return true;
  }
  if ((spec.options & kLayoutOption) == 0 || name != "layout") return false;
  if (value == Py_None) return true;
  if (!PyUnicode_Check(value)) throw_option(spec, name, "ebb.layout", value);
  if (utf8_of(value) != "strided") {
    throw ValueError(str(spec.name, "(): layout must be ebb.strided, got ",
                         in_quotes(utf8_of(value)), "\nhint: to_sparse() makes sparse tensors"));
  }
  return true;
}

int positional_count(Overload overload) {
  int count = 0;
  for (const Param& param : overload) count += (param.flags & kKeywordOnly) == 0 ? 1 : 0;
  return count;
}

/// More arguments than parameters: the last parameter may be a list of ints written in a row.
bool place_ints_in_a_row(Overload overload, const Call& call, PyObject** slots, Ref& extra) {
  const int shift = call.self != nullptr ? 1 : 0;
  const int last = positional_count(overload) - shift - 1;
  if (last < 0 || (overload[static_cast<size_t>(last + shift)].flags & kVarArgs) == 0) return false;
  for (Py_ssize_t index = last; index < call.count; ++index) {
    if (!is_int(call.args[index])) return false;
  }
  std::copy_n(call.args, last, slots + shift);
  extra = Ref(PyTuple_New(call.count - last));
  for (Py_ssize_t index = last; index < call.count; ++index) {
    PyTuple_SET_ITEM(extra.get(), index - last, Py_NewRef(call.args[index]));
  }
  slots[last + shift] = extra.get();
  return true;
}

/// Whether all positional arguments have a place; puts them there.
bool place_positional(Overload overload, const Call& call, PyObject** slots, Ref& extra) {
  const Py_ssize_t shift = call.self != nullptr ? 1 : 0;
  const Py_ssize_t used = call.count + shift;
  if (shift != 0) slots[0] = call.self;
  const bool has_room =
      used == 0 || (used <= static_cast<Py_ssize_t>(overload.size()) &&
                    (overload[static_cast<size_t>(used - 1)].flags & kKeywordOnly) == 0);
  if (!has_room) return place_ints_in_a_row(overload, call, slots, extra);
  for (Py_ssize_t index = 0; index < call.count; ++index) slots[shift + index] = call.args[index];
  return true;
}

bool place_keywords(const OpSpec& spec, Overload overload, const Call& call, PyObject** slots,
                    Failure& failure) {
  const Py_ssize_t count = PyTuple_GET_SIZE(call.names);
  const bool takes_averaging = (spec.options & kAverageOption) != 0;
  Averaging averaging;
  for (Py_ssize_t keyword = 0; keyword < count; ++keyword) {
    PyObject* const name = PyTuple_GET_ITEM(call.names, keyword);
    const int index = find_param(spec, overload, name);
    if (index < 0) {
      PyObject* const value = call.args[call.count + keyword];
      if (is_met_anyway(spec, name, value)) continue;
      if (takes_averaging && averaging.take(spec.name, utf8_of(name), value)) continue;
      failure = {.what = Failure::What::unknown_keyword, .got = name};
      return false;
    }
    PyObject*& slot = slots[index];
    if (slot != nullptr) {
      failure = {.what = Failure::What::duplicate, .index = index, .got = name};
      return false;
    }
    slot = call.args[call.count + keyword];
  }
  if (averaging.is_given()) {
    slots[find_named(overload, "reduction")] = averaging.reduction(spec.name);
  }
  return true;
}

bool check_kinds(Overload overload, PyObject** slots, Failure& failure) {
  for (size_t index = 0; index < overload.size(); ++index) {
    const Param& param = overload[index];
    PyObject* const given = slots[index];
    if (given == nullptr) {
      if ((param.flags & kHasDefault) != 0) continue;
      failure = {.what = Failure::What::missing, .index = static_cast<int>(index)};
      return false;
    }
    if (param.kind == ArgKind::tensor && is_exact_tensor(given)) continue;
    if (!fits(param, given)) {
      failure = {Failure::What::kind, static_cast<int>(index), given};
      return false;
    }
  }
  return true;
}

/// Whether an overload fits; `failure` is set if not.
bool try_overload(const OpSpec& spec, size_t number, const Call& call, PyObject** slots, Ref& extra,
                  Failure& failure) {
  const Overload overload = spec.overloads[number];
  if (!place_positional(overload, call, slots, extra)) {
    failure = {.what = Failure::What::too_many};
    return false;
  }
  if (call.names != nullptr && !place_keywords(spec, overload, call, slots, failure)) return false;
  return check_kinds(overload, slots, failure);
}

std::string at_position(int index, bool has_self) {
  return str(" (position ", index + (has_self ? 0 : 1), ")");
}

/// "Tensor or number": all that the overloads would take in this place.
std::string accepted_kinds(const OpSpec& spec, std::span<const Failure> failures, int index) {
  std::string text;
  std::vector<ArgKind> seen;
  for (size_t overload = 0; overload < failures.size(); ++overload) {
    const Failure& failure = failures[overload];
    if (failure.what != Failure::What::kind || failure.index != index) continue;
    const ArgKind kind = spec.overloads[overload][static_cast<size_t>(index)].kind;
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
    seen.push_back(kind);
    text += str(text.empty() ? "" : " or ", kind_name(kind));
  }
  return text;
}

/// The overload that came furthest explains best.
size_t most_telling(std::span<const Failure> failures) {
  size_t best = 0;
  for (size_t index = 1; index < failures.size(); ++index) {
    const Failure& lhs = failures[index];
    const Failure& rhs = failures[best];
    const bool further = lhs.index > rhs.index;
    const bool clearer = lhs.index == rhs.index && rhs.what == Failure::What::missing &&
                         lhs.what == Failure::What::kind;
    if (further || clearer) best = index;
  }
  return best;
}

[[noreturn]] void explain_failures(const OpSpec& spec, const Call& call,
                                   std::span<const Failure> failures) {
  const size_t chosen = most_telling(failures);
  const Failure& failure = failures[chosen];
  const Overload overload = spec.overloads[chosen];
  const bool has_self = call.self != nullptr;
  const char* const name =
      failure.index < 0 ? "" : overload[static_cast<size_t>(failure.index)].name;
  std::string text = str(spec.name, "(): ");
  switch (failure.what) {
    case Failure::What::too_many: {
      const int room = positional_count(overload) - (has_self ? 1 : 0);
      text +=
          str("takes ", room, " positional argument", room == 1 ? "" : "s", ", got ", call.count);
      break;
    }
    case Failure::What::missing:
      text +=
          str("needs argument '", name, "'", at_position(failure.index, has_self), ", got none");
      break;
    case Failure::What::unknown_keyword:
      text += str("got an unexpected keyword argument ", in_quotes(utf8_of(failure.got)));
      break;
    case Failure::What::duplicate: text += str("got two values for argument '", name, "'"); break;
    case Failure::What::kind:
    case Failure::What::none:
      text += str("argument '", name, "'", at_position(failure.index, has_self), " must be ",
                  accepted_kinds(spec, failures, failure.index), ", got ", type_name(failure.got));
      break;
  }
  throw DTypeError(text);
}

bool has_number(const OpSpec& spec, std::string_view name, uint8_t flags = 0) {
  return std::any_of(spec.overloads.begin(), spec.overloads.end(), [&](const Overload& overload) {
    return std::any_of(overload.begin(), overload.end(), [&](const Param& param) {
      return param.name == name && param.kind == ArgKind::scalar && (param.flags & flags) == flags;
    });
  });
}

/// The numbers that a function scales its tensors by.
std::vector<const char*> factors_of(const OpSpec& spec) {
  if (has_number(spec, "beta")) return {"beta", "alpha"};
  if (has_number(spec, "alpha")) return {"alpha"};
  if (has_number(spec, "value", kKeywordOnly)) return {"value"};  // that of fills is none
  return {};
}

void prepare(OpSpec& spec) {
  for (const Overload& overload : spec.overloads) {
    for (Param& param : overload) param.interned = checked(PyUnicode_InternFromString(param.name));
  }
  spec.prepared = true;
}

}  // namespace

void IntList::spill(int64_t value) {
  if (many_.empty()) many_.assign(inline_.begin(), inline_.end());
  many_.push_back(value);
}

void Arguments::bind(const Call& call) {
  if (!spec_.prepared) [[unlikely]]
    prepare(spec_);
  const int first = spec_.averaging.size_average;
  if (first >= 0 && has_older_order(call, first)) [[unlikely]] {
    const OlderOrder older(call, first, spec_.averaging.reduce);
    return bind_in_order(older.call());
  }
  bind_in_order(call);
}

void Arguments::bind_in_order(const Call& call) {
  if (fits_some_overload(call)) [[likely]]
    return;
  const bool takes_numbers = (spec_.options & kNumbersOption) != 0 && call.self == nullptr;
  if (takes_numbers && fits_as_tensor(call)) return;
  const OrderedCall ordered(factors_of(spec_), call);
  if (ordered.is_valid() && fits_some_overload(ordered.call())) return;
  throw_no_fit(call);
}

/// Binds to the first overload that fits; false if none does.
bool Arguments::fits_some_overload(const Call& call) {
  for (size_t index = 0; index < spec_.overloads.size(); ++index) {
    Failure failure;
    if (try_overload(spec_, index, call, slots_.data(), extra_, failure)) [[likely]] {
      overload_ = static_cast<int>(index);
      return true;
    }
    slots_ = {};
  }
  return false;
}

/// The same where the first argument is a number, of which it makes a tensor.
bool Arguments::fits_as_tensor(const Call& call) {
  if (call.count < 1 || !is_number(call.args[0])) return false;
  const Scalar number = *to_scalar(call.args[0]);
  Ref tensor(wrap(full(Shape{}, number, dtype_of_number(number))));
  const Py_ssize_t named = call.names == nullptr ? 0 : PyTuple_GET_SIZE(call.names);
  std::vector<PyObject*> arguments(call.args, call.args + call.count + named);
  arguments[0] = tensor.get();
  if (!fits_some_overload({call.self, arguments.data(), call.count, call.names})) return false;
  extra_ = std::move(tensor);
  return true;
}

/// Tries every overload again, to find the one that came furthest.
void Arguments::throw_no_fit(const Call& call) {
  look_for_overrides(call);
  std::vector<Failure> failures(spec_.overloads.size());
  for (size_t index = 0; index < failures.size(); ++index) {
    slots_ = {};
    try_overload(spec_, index, call, slots_.data(), extra_, failures[index]);
  }
  explain_failures(spec_, call, failures);
}

std::string Arguments::describe(int index) const {
  const Overload overload = spec_.overloads[static_cast<size_t>(overload_)];
  return str(spec_.name, "(): argument '", overload[static_cast<size_t>(index)].name, "'",
             at_position(index, has_self_));
}

std::vector<Tensor> Arguments::tensor_list(int index) const {
  const Ref items(PySequence_Tuple(slots_[index]));
  const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<size_t>(count));
  for (Py_ssize_t item = 0; item < count; ++item) {
    PyObject* const object = PyTuple_GET_ITEM(items.get(), item);
    if (!is_plain_tensor(object)) {
      if (has_override(object)) throw CallsOverride();
      throw DTypeError(str(describe(index), " must be a sequence of Tensors, got ",
                           type_name(object), " at position ", item));
    }
    tensors.push_back(tensor_of(object));
  }
  return tensors;
}

Scalar Arguments::scalar(int index) const {
  PyObject* const object = slots_[index];
  if (!is_tensor(object)) {
    if (const std::optional<Scalar> value = to_scalar(object)) return *value;
    throw DTypeError(str(describe(index), " must be number, got ", type_name(object)));
  }
  const Tensor& tensor = tensor_of(object);
  if (tensor.requires_grad() && (thread_state.modes & gate::kNoGrad) == 0) {
    throw DTypeError(str(describe(index), " must be number, got a Tensor", naming_of(tensor),
                         " that requires grad"));
  }
  if (autograd::is_dual(tensor)) {
    throw DTypeError(str(describe(index), " must be number, got a Tensor that carries a tangent"));
  }
  return tensor.item_scalar();
}

int64_t Arguments::integer(int index) const {
  int overflow = 0;
  const Ref number(PyNumber_Index(slots_[index]));
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0) throw ValueError(str(describe(index), " must fit into 64 bits, got more"));
  if (value == -1 && PyErr_Occurred() != nullptr) throw ErrorSet();
  return value;
}

IntList Arguments::int_list(int index) const {
  IntList list;
  PyObject* const object = slots_[index];
  if (is_int(object)) {
    list.push_back(integer(index));
    return list;
  }
  const Ref items(PySequence_Tuple(object));
  for (Py_ssize_t item = 0; item < PyTuple_GET_SIZE(items.get()); ++item) {
    PyObject* const element = PyTuple_GET_ITEM(items.get(), item);
    if (!is_int(element)) {
      throw DTypeError(str(describe(index), " must be a sequence of ints, got ", type_name(element),
                           " at position ", item));
    }
    list.push_back(to_int64(element));
  }
  return list;
}

bool Arguments::boolean(int index) const {
  const int truth = PyObject_IsTrue(slots_[index]);
  check_status(truth);
  return truth == 1;
}

double Arguments::floating(int index) const {
  if (is_tensor(slots_[index])) return scalar(index).to_double();
  const double value = PyFloat_AsDouble(slots_[index]);
  if (value == -1.0 && PyErr_Occurred() != nullptr) throw ErrorSet();
  return value;
}

std::string_view Arguments::text(int index) const { return utf8_of(slots_[index]); }

DType Arguments::dtype(int index) const { return *to_dtype(slots_[index]); }
Device Arguments::device(int index) const { return to_device(slots_[index]); }

kernels::Reduction Arguments::reduction(int index) const {
  const std::string_view text = utf8_of(slots_[index]);
  if (text == "none") return kernels::Reduction::none;
  if (text == "mean") return kernels::Reduction::mean;
  if (text == "sum") return kernels::Reduction::sum;
  throw ValueError(str(describe(index), " must be 'none', 'mean' or 'sum', got ", in_quotes(text)));
}

std::optional<Scalar> Arguments::optional_scalar(int index) const {
  return given(index) ? std::optional(scalar(index)) : std::nullopt;
}
std::optional<int64_t> Arguments::optional_integer(int index) const {
  return given(index) ? std::optional(integer(index)) : std::nullopt;
}
std::optional<IntList> Arguments::optional_int_list(int index) const {
  return given(index) ? std::optional(int_list(index)) : std::nullopt;
}
std::optional<bool> Arguments::optional_boolean(int index) const {
  return given(index) ? std::optional(boolean(index)) : std::nullopt;
}
std::optional<double> Arguments::optional_floating(int index) const {
  return given(index) ? std::optional(floating(index)) : std::nullopt;
}
std::optional<std::string_view> Arguments::optional_text(int index) const {
  return given(index) ? std::optional(text(index)) : std::nullopt;
}
std::optional<DType> Arguments::optional_dtype(int index) const {
  return given(index) ? std::optional(dtype(index)) : std::nullopt;
}
std::optional<Device> Arguments::optional_device(int index) const {
  return given(index) ? std::optional(device(index)) : std::nullopt;
}

bool is_number(PyObject* object) {
  return PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object) ||
         is_numpy_scalar(object);
}

std::optional<Scalar> to_scalar(PyObject* object) {
  if (PyFloat_Check(object)) return Scalar(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object)) return Scalar(object == Py_True);
  if (PyLong_Check(object)) return Scalar(to_int64(object));
  if (PyComplex_Check(object)) {
    const Py_complex value = PyComplex_AsCComplex(object);
    return Scalar(std::complex<double>(value.real, value.imag));
  }
  if (!is_numpy_scalar(object)) return std::nullopt;
  const Ref plain(PyObject_CallMethod(object, "item", nullptr));
  // A type without a Python counterpart (long double) gives itself back.
  return is_numpy_scalar(plain.get()) && !PyFloat_Check(plain.get()) ? std::nullopt
                                                                     : to_scalar(plain.get());
}

int64_t to_int64(PyObject* object) {
  int overflow = 0;
  const Ref number(PyNumber_Index(object));
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0) throw ValueError("int: needs a number of at most 64 bits, got a larger one");
  if (value == -1 && PyErr_Occurred() != nullptr) throw ErrorSet();
  return value;
}

}  // namespace ebb::python
