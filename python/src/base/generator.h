// python/src/base/generator.h -- ebb.Generator: a state for random numbers, and the default one.
#pragma once

#include "ebb/core/base/random.h"
#include "python/src/base/py.h"

namespace ebb::python {

bool is_generator(PyObject* object);
/// The generator inside an object for which is_generator() holds.
Generator& generator_of(PyObject* object);

/// Random ops inside this scope draw from `object` instead of the default generator (null: they
/// do not). Other threads must not draw meanwhile: hold the GIL.
class DrawFrom {
 public:
  explicit DrawFrom(PyObject* object);
  ~DrawFrom();
  DrawFrom(const DrawFrom&) = delete;
  DrawFrom& operator=(const DrawFrom&) = delete;

 private:
  Generator* generator_;
  RandomState saved_;
};

/// Adds the type, default_generator, manual_seed() and the like to `module`. Throws ErrorSet.
void add_generator(PyObject* module);

}  // namespace ebb::python
