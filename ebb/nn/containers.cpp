// ebb/nn/containers.cpp -- ModuleList and Sequential.
#include "ebb/nn/containers.h"

#include <string>

#include "ebb/core/base/error.h"

namespace ebb::nn {

ModuleList::ModuleList(const std::vector<std::shared_ptr<Module>>& modules) {
  for (const std::shared_ptr<Module>& module : modules) push_back(module);
}

void ModuleList::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(size()), std::move(module));
}

Module& ModuleList::operator[](size_t index) const {
  if (index >= size()) {
    throw IndexError(str("ModuleList: needs an index below ", size(), ", got ", index));
  }
  return *children()[index].second;
}

Tensor Sequential::forward(const Tensor& input) {
  Tensor value = input;
  for (const auto& [name, module] : children()) value = (*module)(value);
  return value;
}

}  // namespace ebb::nn
