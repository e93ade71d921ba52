// ebb/core/tensor/layout.cpp -- layouts in words.
#include "ebb/core/tensor/layout.h"

#include "ebb/core/base/error.h"

namespace ebb {

const char* name_of(Layout layout) {
  constexpr const char* kNames[kLayoutCount] = {"strided", "sparse_coo", "sparse_csr",
                                                "selected_rows", "opaque"};
  return kNames[static_cast<int>(layout)];
}

void throw_layout(const char* op, const char* name, const TensorImpl& impl) {
  const bool is_opaque = impl.layout == Layout::opaque;
  throw NotImplementedError(str(op, ": '", name, "' must be strided, got one of layout ",
                                name_of(impl.layout), " and shape ", PrintShape{impl.shape()},
                                is_opaque ? "" : "\nhint: call .to_dense() on it first"));
}

}  // namespace ebb
