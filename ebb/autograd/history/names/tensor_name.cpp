// ebb/autograd/history/names/tensor_name.cpp -- where names are kept.
#include "ebb/autograd/history/names/tensor_name.h"

#include <utility>

#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/error.h"

namespace ebb {
namespace autograd {
namespace {

/// Changes one kind of name. Nodes that save the tensor from now on save a twin with the new one.
void change_names(const Tensor& tensor, std::string TensorNames::*kind, std::string_view name) {
  if (name.empty() && meta_of(tensor) == nullptr) return;
  AutogradMeta& meta = ensure_meta(tensor);
  TensorNames names = meta.names();
  names.*kind = name;
  meta.set_names(std::move(names));
  meta.drop_twin();
}

}  // namespace

void set_module_path(const Tensor& tensor, std::string_view path) {
  if (tensor.defined()) change_names(tensor, &TensorNames::path, path);
}

}  // namespace autograd

void set_name(const Tensor& tensor, std::string_view name) {
  if (!tensor.defined()) throw ValueError("set_name: needs a tensor, got an undefined one");
  autograd::change_names(tensor, &TensorNames::given, name);
  const autograd::Edge place = autograd::gradient_edge(tensor);
  if (place.node == nullptr || place.node->is_accumulator()) return;
  autograd::note_name(*place.node, place.index, std::string(name));
}

}  // namespace ebb
