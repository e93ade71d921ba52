// python/src/parts/module_parts.h -- reading the parts of a module: `module.weight`.
#pragma once

#include <array>
#include <cstdint>

#include "python/src/base/py.h"

namespace ebb::python {

/// The dict of a module's attributes; borrowed. Null without one, an error set or not.
PyObject* attributes_of(PyObject* module);

/// module.__getattr__(name), which Python calls where it found no attribute: the parameter, buffer
/// or submodule of that name.
PyObject* get_part(PyObject* module, PyObject* name);

/// What a call of a module needs of its attributes and its class; all borrowed.
struct CallFacts {
  std::array<PyObject*, 4> tables{};  // of hooks; null where there are none
  PyObject* forward = nullptr;  // a function of the class that takes the module first; null unless
                                // that is what `module.forward` stands for
  uint64_t attributes_state = 0;
  unsigned class_state = 0;

  /// Looks them up. Throws ErrorSet.
  void refresh(PyObject* module, PyObject* attributes);
  /// Whether they are what looking them up would give.
  bool are_of(PyObject* module, PyObject* attributes) const;
};

/// Adds _read_parts_directly() to `module`, which has _ModuleCall. Throws ErrorSet.
void add_module_parts(PyObject* module);

}  // namespace ebb::python
