// python/src/calls/args.h -- binds the arguments of a fastcall to the parameters of an op's
// overloads.
//
// A generated function describes its overloads in an OpSpec. Arguments::bind() finds the first one
// that fits, looking at kinds only: nothing of the user's runs before an overload is chosen. The
// getters then convert; a sequence is copied before its elements are looked at, so that an element
// with a hostile __index__ cannot pull the list from under us. Start reading at bind().
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ebb/core/base/random.h"
#include "ebb/core/base/scalar.h"
#include "ebb/kernels/signatures.h"
#include "python/src/base/error_names.h"
#include "python/src/base/tensor_object.h"
#include "python/src/calls/call.h"
#include "python/src/calls/overrides.h"

namespace ebb::python {

enum class ArgKind : uint8_t {
  object,  // anything
  tensor,
  tensor_list,
  scalar,
  integer,
  int_list,
  boolean,
  floating,
  text,
  dtype,
  device,
  reduction,
  generator,
};

// What else a parameter may be.
inline constexpr uint8_t kHasDefault = 1;
inline constexpr uint8_t kKeywordOnly = 2;
inline constexpr uint8_t kNoneAllowed = 4;  // None means "not given"
inline constexpr uint8_t kVarArgs = 8;      // x.reshape(2, 3) for x.reshape((2, 3))

struct Param {
  const char* name;
  ArgKind kind;
  uint8_t flags = 0;
  PyObject* interned = nullptr;  // the name as a Python string, made by prepare()
};
using Overload = std::span<Param>;

/// Another keyword that a parameter goes by.
struct Spelling {
  std::string_view spelled;
  std::string_view name;
};

// Keywords looked for once no parameter fits: layout=ebb.strided, memory_format=None where another
// overload knows formats, which ask for what is done anyway; pin_memory (pinned_if_asked()).
inline constexpr uint8_t kLayoutOption = 1;
inline constexpr uint8_t kPinOption = 2;
inline constexpr uint8_t kFormatOption = 4;
// size_average= and reduce=, which say what reduction= says.
inline constexpr uint8_t kAverageOption = 8;
// Numbers alone: the first is made a tensor, as it would be in tensor().
inline constexpr uint8_t kNumbersOption = 16;

/// Where size_average and reduce stand in PyTorch's signature; below 0 if by name only.
struct AveragingPlaces {
  int8_t size_average = -1;
  int8_t reduce = -1;
};

/// The Python function `name` and its overloads in the order in which they are tried.
struct OpSpec {
  const char* name;
  std::span<const Overload> overloads;
  std::span<const Spelling> spellings = {};
  uint8_t options = 0;
  AveragingPlaces averaging = {};
  bool prepared = false;
};

inline constexpr int kMaxParams = 12;

/// A list of ints; up to kMaxDims of them are kept inline.
class IntList {
 public:
  IntList() = default;
  IntList(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) push_back(value);
  }
  void push_back(int64_t value) {
    if (size_ < inline_.size()) {
      inline_[size_++] = value;
    } else {
      spill(value);
    }
  }
  operator IntSpan() const {  // NOLINT: a list is its values
    return many_.empty() ? IntSpan(inline_.data(), size_) : IntSpan(many_);
  }

 private:
  void spill(int64_t value);

  size_t size_ = 0;
  std::array<int64_t, kMaxDims> inline_;  // only the first size_ are initialised
  std::vector<int64_t> many_;
};

/// The arguments of one call, bound to the parameters of the overload that fits.
class Arguments {
 public:
  /// Throws ErrorSet with a DTypeError (a Python TypeError) that says what does not fit.
  Arguments(OpSpec& spec, const Call& call) : spec_(spec), has_self_(call.self != nullptr) {
    bind(call);
  }

  /// Which overload fits: its index in the spec.
  int overload() const { return overload_; }
  bool given(int index) const { return slots_[index] != nullptr && slots_[index] != Py_None; }
  /// The argument itself, or null. Borrowed.
  PyObject* object(int index) const { return slots_[index]; }

  // Each throws ErrorSet or one of ebb's errors, naming function and argument.
  const Tensor& tensor(int index) const {
    return given(index) ? tensor_of(slots_[index]) : undefined_;
  }
  std::vector<Tensor> tensor_list(int index) const;
  Scalar scalar(int index) const;
  int64_t integer(int index) const;
  IntList int_list(int index) const;
  bool boolean(int index) const;
  double floating(int index) const;
  /// Lives as long as the argument.
  std::string_view text(int index) const;
  DType dtype(int index) const;
  Device device(int index) const;
  kernels::Reduction reduction(int index) const;

  // The same for parameters that need not be given.
  std::optional<Scalar> optional_scalar(int index) const;
  std::optional<int64_t> optional_integer(int index) const;
  std::optional<IntList> optional_int_list(int index) const;
  std::optional<bool> optional_boolean(int index) const;
  std::optional<double> optional_floating(int index) const;
  std::optional<std::string_view> optional_text(int index) const;
  std::optional<DType> optional_dtype(int index) const;
  std::optional<Device> optional_device(int index) const;

 private:
  void bind(const Call& call);
  void bind_in_order(const Call& call);
  bool fits_some_overload(const Call& call);
  bool fits_as_tensor(const Call& call);
  [[noreturn]] void throw_no_fit(const Call& call);
  std::string describe(int index) const;

  OpSpec& spec_;
  bool has_self_;
  int overload_ = 0;
  std::array<PyObject*, kMaxParams> slots_ = {};
  Ref extra_;  // the tuple made of several ints in a row, or the tensor made of a number
  inline static const Tensor undefined_;
};

/// guarded() around a function that reads its arguments by `spec`: body(arguments). An argument
/// whose class has the protocol takes the call over.
template <typename Body>
PyObject* guarded_call(OpSpec& spec, const Call& call, Body&& body) noexcept {
  const auto run = [&]() -> PyObject* {
    try {
      return body(Arguments(spec, call));
    } catch (const CallsOverride&) {
      return call_override(spec.name, call);
    }
  };
  return guarded(run, static_cast<PyObject*>(nullptr), [&] { name_plain_error(spec.name); });
}

/// Whether `count` positional arguments and the keywords are just the first `wanted` of `params`,
/// in their order. False also before the op's first call, when no keyword is known yet.
inline bool follows(PyObject* names, const Param* params, Py_ssize_t count, Py_ssize_t wanted) {
  if (names == nullptr) return count == wanted;
  if (count + PyTuple_GET_SIZE(names) != wanted) return false;
  for (Py_ssize_t index = count; index < wanted; ++index) {
    if (PyTuple_GET_ITEM(names, index - count) != params[index].interned) return false;
  }
  return true;
}

/// A Python number (bool, int, float, complex or a NumPy scalar) as a Scalar; nothing for others.
std::optional<Scalar> to_scalar(PyObject* object);
/// Whether to_scalar() gives something.
bool is_number(PyObject* object);

/// An int of 64 bits from anything with __index__. Throws ErrorSet.
int64_t to_int64(PyObject* object);

}  // namespace ebb::python
