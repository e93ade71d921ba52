// python/src/autograd/function/function_context.h -- ctx: what the methods of one call of a
// Function share.
//
// The node of the call owns its ctx, and ctx knows the node without owning it: a ctx that somebody
// kept raises once the graph is gone. Python's collector finds cycles through ctx: it follows ctx's
// attributes, and leads from a tensor to the ctx of the node that made it if nobody else holds
// either (visit_context()). A ctx without attributes is not tracked. Everything needs the GIL.
#pragma once

#include <cstdint>
#include <vector>

#include "ebb/autograd/custom/custom_node.h"
#include "python/src/base/py.h"

namespace ebb::python {

class PythonNode;

/// A set of positions: no memory of its own unless one is above 63.
class Positions {
 public:
  void add(size_t position) {
    if (position < 64) {
      first_ |= uint64_t{1} << position;
      return;
    }
    if (others_.size() <= position) others_.resize(position + 1);
    others_[position] = true;
  }
  bool contains(size_t position) const {
    if (position < 64) return ((first_ >> position) & 1) != 0;
    return position < others_.size() && others_[position];
  }

 private:
  uint64_t first_ = 0;
  std::vector<bool> others_;
};

struct ContextObject {
  PyObject_HEAD PythonNode* node;  // not owned; null before recording, and once the node is gone
  PyObject* dict;
  PyObject* weaklist;
  PyObject* function;  // the class that was called
  PyObject* to_save;   // these four: tuples that forward() gave, until it has returned
  PyObject* to_save_forward;
  PyObject* dirty;
  PyObject* non_differentiable;
  PyObject* intermediates;  // names of attributes with tensors that nobody recorded, or null
  Positions needed;         // by argument of forward(): whether it requires a gradient
  uint32_t argument_count;
  bool materializes_grads;
  bool in_forward;  // forward() or setup_context() is running
  bool in_jvp;      // jvp() is: saved_tensors are those of save_for_forward()
};

extern PyTypeObject* context_type;  // made by function_context_type.cpp

/// A new ctx for a call of `function`, a class.
Ref make_context(PyObject* function);
inline ContextObject* context_of(const Ref& ref) {
  return reinterpret_cast<ContextObject*>(ref.get());
}
/// Drops what only forward() and what follows it needed.
void forget_marks(ContextObject* context) noexcept;

/// Whether an attribute might lead back to ctx, so that Python's collector has to look.
bool may_close_cycle(const ContextObject* context);

/// The tensors of a tuple that a method of ctx took (None is undefined); empty for null.
std::vector<Tensor> tensors_in(PyObject* tuple);

}  // namespace ebb::python
