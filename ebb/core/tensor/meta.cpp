// ebb/core/tensor/meta.cpp -- the error of what needs elements where there are none.
#include "ebb/core/tensor/meta.h"

#include "ebb/core/base/error.h"

namespace ebb {

NoElements::~NoElements() = default;

void throw_no_elements(const char* op, const char* hint) {
  throw NoElements(str(op, ": needs the elements of its tensors, got one on meta, which has none",
                       hint == nullptr ? "" : "\nhint: ", hint == nullptr ? "" : hint));
}

}  // namespace ebb
