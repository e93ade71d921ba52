// python/src/base/generator.cpp -- ebb.Generator and the functions that seed the default one.
//
// A state is shown as a uint8 tensor of 16 bytes (seed, offset), as PyTorch's is a byte tensor.
#include "python/src/base/generator.h"

#include <cstring>
#include <new>
#include <random>

#include "ebb/autograd/ops/empty.h"
#include "python/src/base/error_names.h"
#include "python/src/base/errors.h"
#include "python/src/base/only_argument.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/value_types.h"

namespace ebb::python {
namespace {

struct GeneratorObject {
  PyObject_HEAD Generator* generator;
  bool is_owner;
  Device device;
};
PyTypeObject* generator_type = nullptr;

uint64_t seed_from(PyObject* object) {
  const Ref number(PyNumber_Index(object));
  return static_cast<uint64_t>(PyLong_AsUnsignedLongLongMask(number.get()));
}

Tensor state_tensor(const Generator& generator) {
  const RandomState state = generator.state();
  const int64_t sizes[] = {sizeof(RandomState)};
  Tensor bytes = empty(sizes, DType::uint8);
  std::memcpy(bytes.data_ptr(), &state, sizeof(state));
  return bytes;
}

void set_state(Generator& generator, PyObject* object) {
  const bool fits = is_tensor(object) && tensor_of(object).defined() &&
                    tensor_of(object).dtype() == DType::uint8 &&
                    tensor_of(object).numel() == sizeof(RandomState) &&
                    tensor_of(object).is_contiguous();
  if (!fits) {
    throw ValueError(str("set_state: needs what get_state() returned, got ", type_name(object)));
  }
  RandomState state;
  std::memcpy(&state, tensor_of(object).host_data(), sizeof(state));
  generator.set_state(state);
}

uint64_t random_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

Ref make_generator(PyTypeObject* type, const RandomState& state, Device device) {
  Ref self(checked(type->tp_alloc(type, 0)));
  auto* const object = reinterpret_cast<GeneratorObject*>(self.get());
  object->generator = new Generator(0);
  object->is_owner = true;
  object->device = device;
  object->generator->set_state(state);
  return self;
}

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names),
                                  &device) == 0) {
    return nullptr;
  }
  return guarded_as("Generator", [&] {
    const Device its = device == nullptr || device == Py_None ? Device{} : to_device(device);
    return make_generator(type, RandomState{}, its).release();
  });
}

void generator_dealloc(PyObject* self) {
  auto* const object = reinterpret_cast<GeneratorObject*>(self);
  if (object->is_owner) delete object->generator;
  free_object(self);
}

PyObject* generator_manual_seed(PyObject* self, PyObject* seed) {
  return guarded_as("manual_seed", [&] {
    generator_of(self).set_seed(seed_from(seed));
    return Py_NewRef(self);
  });
}
PyObject* generator_seed(PyObject* self, PyObject*) {
  const uint64_t seed = random_seed();
  generator_of(self).set_seed(seed);
  return PyLong_FromUnsignedLongLong(seed);
}
PyObject* generator_initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).state().seed);
}
PyObject* generator_get_state(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(state_tensor(generator_of(self))); });
}
PyObject* generator_set_state(PyObject* self, PyObject* state) {
  set_state(generator_of(self), state);
  return Py_NewRef(self);
}
PyObject* generator_clone_state(PyObject* self, PyObject*) {
  const Device device = reinterpret_cast<GeneratorObject*>(self)->device;
  return make_generator(Py_TYPE(self), generator_of(self).state(), device).release();
}
PyObject* generator_device(PyObject* self, void*) {
  return guarded([&] { return make_device(reinterpret_cast<GeneratorObject*>(self)->device); });
}

PyGetSetDef kAttributes[] = {
    {"device", generator_device, nullptr, "The device that it was made for.", nullptr},
    {},
};

PyMethodDef kMethods[] = {
    {"manual_seed", one_argument_method<generator_manual_seed, "manual_seed", "seed">(),
     kOnlyArgument,
     "manual_seed($self, seed)\n--\n\nStart the sequence of `seed` and return the generator."},
    {"seed", guarded_method<generator_seed>(), METH_NOARGS,
     "seed($self)\n--\n\nStart a sequence nobody knows and return its seed."},
    {"initial_seed", generator_initial_seed, METH_NOARGS,
     "initial_seed($self)\n--\n\nReturn the seed."},
    {"get_state", generator_get_state, METH_NOARGS,
     "get_state($self)\n--\n\nReturn the state as a uint8 tensor."},
    {"set_state", one_argument_method<generator_set_state, "set_state", "new_state">(),
     kOnlyArgument,
     "set_state($self, new_state)\n--\n\nGo back to a state that get_state() returned."},
    {"clone_state", guarded_method<generator_clone_state>(), METH_NOARGS,
     "clone_state($self)\n--\n\nReturn another generator that goes on from the same state."},
    {},
};

PyObject* module_manual_seed(PyObject* module, PyObject* seed) {
  return guarded_as("manual_seed", [&] {
    default_generator().set_seed(seed_from(seed));
    return checked(PyObject_GetAttrString(module, "default_generator"));
  });
}
PyObject* module_get_state(PyObject*, PyObject*) {
  return guarded([&] { return wrap(state_tensor(default_generator())); });
}
PyObject* module_set_state(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded_as("set_rng_state", [&] {
    set_state(default_generator(), only_argument("set_rng_state", "new_state", args, count, names));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef kFunctions[] = {
    {"manual_seed", one_argument_method<module_manual_seed, "manual_seed", "seed">(), kOnlyArgument,
     "manual_seed($module, seed)\n--\n\n"
     "Start the default generator's sequence of `seed`; return the generator."
     "\n\nExample:\n"
     "    >>> generator = ebb.manual_seed(0)\n"
     "    >>> x = ebb.rand(2)\n"
     "    >>> generator = ebb.manual_seed(0)\n"
     "    >>> ebb.equal(ebb.rand(2), x)\n"
     "    True\n"},
    {"get_rng_state", module_get_state, METH_NOARGS,
     "get_rng_state($module)\n--\n\nReturn the default generator's state as a uint8 tensor."
     "\n\nExample:\n"
     "    >>> state = ebb.get_rng_state()\n"
     "    >>> x = ebb.rand(2)\n"
     "    >>> ebb.set_rng_state(state)\n"
     "    >>> ebb.equal(ebb.rand(2), x)\n"
     "    True\n"},
    {"set_rng_state", as_method(module_set_state), METH_FASTCALL | METH_KEYWORDS,
     "set_rng_state($module, new_state)\n--\n\nGo back to a state of the default generator; see "
     "get_rng_state.\n\nExample:\n"
     "    >>> ebb.set_rng_state(ebb.get_rng_state())\n"},
    {},
};

}  // namespace

bool is_generator(PyObject* object) { return Py_TYPE(object) == generator_type; }
Generator& generator_of(PyObject* object) {
  return *reinterpret_cast<GeneratorObject*>(object)->generator;
}

DrawFrom::DrawFrom(PyObject* object)
    : generator_(object == nullptr || object == Py_None ? nullptr : &generator_of(object)) {
  if (generator_ == nullptr) return;
  saved_ = default_generator().state();
  default_generator().set_state(generator_->state());
}

DrawFrom::~DrawFrom() {
  if (generator_ == nullptr) return;
  const RandomState drawn = default_generator().state();
  const bool is_default = generator_ == &default_generator();
  if (!is_default) default_generator().set_state(saved_);
  generator_->set_state(drawn);
}

void add_generator(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>("Generator(device='cpu')\n--\n\n"
                         "A sequence of random numbers of its own."
                         "\n\nExample:\n"
                         "    >>> generator = ebb.Generator().manual_seed(3)\n"
                         "    >>> state = generator.get_state()\n"
                         "    >>> x = ebb.rand(2, generator=generator)\n"
                         "    >>> ebb.equal(x, ebb.rand(2, generator=generator.set_state(state)))\n"
                         "    True\n")},
      {Py_tp_new, as_slot(generator_new)},
      {Py_tp_dealloc, as_slot(generator_dealloc)},
      {Py_tp_methods, kMethods},
      {Py_tp_getset, kAttributes},
      {0, nullptr},
  };
  generator_type =
      add_type(module, {"ebb.Generator", sizeof(GeneratorObject), 0, Py_TPFLAGS_DEFAULT, slots});
  const Ref shared(generator_type->tp_alloc(generator_type, 0));
  reinterpret_cast<GeneratorObject*>(shared.get())->generator = &default_generator();
  check_status(PyModule_AddObjectRef(module, "default_generator", shared.get()));
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
