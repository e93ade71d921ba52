// ebb/nn/module.h -- Module: the base of layers and networks.
//
// A subclass registers parameters, buffers and submodules in its constructor; their order of
// registration is the order in which everything lists them. Names of nested tensors are joined with
// dots: "layers.0.weight".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ebb/core/base/scope.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::nn {

class Module;

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// What load_state_dict() did not find on one side or the other.
struct LoadReport {
  std::vector<std::string> missing_keys;     // the module has them, the state does not
  std::vector<std::string> unexpected_keys;  // the state has them, the module does not
};

/// A call of a module, for the length of a scope: what is recorded belongs to the module, under its
/// path from the outermost module that is being called ("blocks.3.attn"). Calling a module opens
/// one; a forward of another kind than operator() knows may open its own.
class EBB_API ModuleCall {
 public:
  explicit ModuleCall(Module& module);
  ~ModuleCall();
  ModuleCall(const ModuleCall&) = delete;
  ModuleCall& operator=(const ModuleCall&) = delete;

 private:
  static ScopeId scope_of(Module& module);

  const ModuleScope scope_;
  Module* const outer_;  // the one whose forward() is running
};

/// See the top of the file. Not safe to change while another thread uses it.
class EBB_API Module {
 public:
  using NamedModules = std::vector<std::pair<std::string, std::shared_ptr<Module>>>;

  Module() = default;
  virtual ~Module();
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Computes the output. Throws NotImplementedError unless overridden.
  virtual Tensor forward(const Tensor& input);
  /// forward(), with what it records noted as this module's.
  Tensor operator()(const Tensor& input) {
    const ModuleCall call(*this);
    return forward(input);
  }

  /// All parameters, those of submodules included; a shared one once.
  std::vector<Tensor> parameters() const;
  NamedTensors named_parameters() const;
  NamedTensors named_buffers() const;
  const NamedModules& children() const { return children_; }
  /// This module, as "", and all below with their dotted names, a shared one once. Not owning.
  std::vector<std::pair<std::string, Module*>> named_modules();

  /// Parameters and persistent buffers under their names, detached but sharing memory. What
  /// io::save_safetensors() takes; load_state_dict() takes what io::load_safetensors() returns.
  NamedTensors state_dict() const;
  /// Copies `state` into parameters and buffers of the same names. With `strict`, throws ValueError
  /// if a name is on one side only; ShapeError if a shape differs. Nothing is copied then.
  LoadReport load_state_dict(const NamedTensors& state, bool strict = true);

  /// Switches this module and all below between training and evaluation.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return is_training_; }

  /// Drops the gradients of all parameters, or fills them with zeros.
  void zero_grad(bool set_to_none = true);
  /// Marks all parameters as wanting a gradient, or not.
  void requires_grad_(bool value = true);
  /// Converts all floating parameters and buffers, and gradients, in place: handles stay valid.
  /// Throws DTypeError for a dtype that has no gradients.
  void to(DType dtype);
  /// Calls `change` with this module and all below, children first.
  void apply(const std::function<void(Module&)>& change);

 protected:
  /// Makes `tensor` a parameter: a leaf that requires a gradient. Returns it. Throws ValueError for
  /// a name that is taken, empty or holds a dot.
  Tensor register_parameter(std::string name, const Tensor& tensor);
  /// A tensor that is not trained. It belongs to the state if it is `persistent`.
  Tensor register_buffer(std::string name, const Tensor& tensor, bool persistent = true);
  template <typename Kind>
  std::shared_ptr<Kind> register_module(std::string name, std::shared_ptr<Kind> module) {
    add_child(std::move(name), module);
    return module;
  }

 private:
  friend ModuleCall;
  /// The scope of the last call, and the one around it. A module that was moved starts afresh.
  struct KnownScope {
    std::atomic<uint64_t> pair{0};
    KnownScope() = default;
    KnownScope(KnownScope&&) noexcept {}
    KnownScope& operator=(KnownScope&&) noexcept {
      pair = 0;
      return *this;
    }
  };

  void check_name(const char* op, const std::string& name) const;
  void add_child(std::string name, std::shared_ptr<Module> module);
  NamedTensors collect(NamedTensors Module::*member) const;

  NamedTensors parameters_;
  NamedTensors buffers_;
  std::vector<std::string> transient_;  // buffers left out of the state
  NamedModules children_;
  bool is_training_ = true;
  KnownScope known_scope_;
};

}  // namespace ebb::nn
