// ebb/nn/containers.h -- ModuleList and Sequential: modules numbered in order.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "ebb/nn/module.h"

namespace ebb::nn {

/// Modules under the names "0", "1", ...; has no forward of its own.
class EBB_API ModuleList : public Module {
 public:
  ModuleList() = default;
  explicit ModuleList(const std::vector<std::shared_ptr<Module>>& modules);

  void push_back(std::shared_ptr<Module> module);
  /// Moves a module in: list.push_back(Linear(2, 3)).
  template <typename Kind>
  requires(std::is_base_of_v<Module, Kind> &&
           !std::is_const_v<Kind>) void push_back(Kind&& module) {
    push_back(std::shared_ptr<Module>(std::make_shared<Kind>(std::move(module))));
  }

  size_t size() const { return children().size(); }
  /// Throws IndexError.
  Module& operator[](size_t index) const;
};

/// Feeds its input through its modules, one after the other.
class EBB_API Sequential final : public ModuleList {
 public:
  Sequential() = default;
  explicit Sequential(const std::vector<std::shared_ptr<Module>>& modules) : ModuleList(modules) {}
  /// Sequential(Linear(64, 128), ReLU(), Linear(128, 10)).
  template <typename... Kinds>
  requires(sizeof...(Kinds) > 0 && (std::is_base_of_v<Module, Kinds> && ...) &&
           !(std::is_same_v<Sequential, Kinds> && ...)) explicit Sequential(Kinds&&... modules) {
    (push_back(std::move(modules)), ...);
  }

  Tensor forward(const Tensor& input) override;
};

}  // namespace ebb::nn
