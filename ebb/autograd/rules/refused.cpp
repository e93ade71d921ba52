// ebb/autograd/rules/refused.cpp -- the error of a gradient that nobody has.
#include "ebb/autograd/rules/refused.h"

#include "ebb/core/base/error.h"
#include "ebb/core/base/str.h"

namespace ebb::autograd {

Tensor refused_gradient(std::string_view op, std::string_view name) {
  throw NotImplementedError(str(op, ": the derivative to `", name, "` is not implemented",
                                "\nhint: detach `", name, "` first"));
}

}  // namespace ebb::autograd
