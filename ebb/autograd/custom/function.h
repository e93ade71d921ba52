// ebb/autograd/custom/function.h -- operations with a derivative of the user's own:
// Function<Derived>.
//
//   struct Cube : ebb::Function<Cube> {
//     static Tensor forward(FunctionContext& ctx, const Tensor& x) {
//       ctx.save_for_backward({x});
//       return x * x * x;
//     }
//     static std::vector<Tensor> backward(FunctionContext& ctx, std::vector<Tensor> grads) {
//       const Tensor x = ctx.saved_tensors()[0];
//       return {grads[0] * x * x * 3};
//     }
//   };
//   Tensor y = Cube::apply(x);
//
// forward() runs without recording; it returns a Tensor or a std::vector<Tensor>. Of its arguments
// those of type Tensor are differentiated. backward() returns one gradient per argument, undefined
// for those that need none; with create_graph it is recorded, which gives derivatives of any order,
// unless Derived says `static constexpr bool kOnceDifferentiable = true`. Forward mode needs one
// more method, which gets one tangent per argument and returns one per output (undefined for zero):
//
//     static std::vector<Tensor> jvp(FunctionContext& ctx, std::vector<Tensor> tangents);
//
// The rules are those of Python's ebb.autograd.Function (docs/custom_functions.md).
#pragma once

#include <any>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/custom/custom_jvp.h"
#include "ebb/autograd/custom/custom_node.h"
#include "ebb/core/base/location.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb {

namespace autograd {
class FunctionCall;
class FunctionNode;
}  // namespace autograd

/// What forward() and backward() of one call share. Lives as long as the recorded call.
class EBB_API FunctionContext {
 public:
  FunctionContext() = default;
  FunctionContext(const FunctionContext&) = delete;
  FunctionContext& operator=(const FunctionContext&) = delete;

  /// Keeps tensors (undefined ones too) for backward(), where a later write to them is noticed.
  void save_for_backward(std::vector<Tensor> tensors) { marks_.saved = std::move(tensors); }
  /// Keeps tensors for jvp(), which runs right after forward().
  void save_for_forward(std::vector<Tensor> tensors) { saved_for_forward_ = std::move(tensors); }
  /// What was saved, in order; in jvp(), what save_for_forward() kept. Throws AutogradError outside
  /// of both, or for a value that was written to since.
  std::vector<Tensor> saved_tensors() const;
  /// Anything else that backward() needs. A tensor in here is neither checked nor freed.
  std::unordered_map<std::string, std::any> saved_data;

  /// Says which inputs forward() has written to; it must return them.
  void mark_dirty(std::vector<Tensor> inputs) { marks_.dirty = std::move(inputs); }
  /// Says which outputs have no gradient.
  void mark_non_differentiable(std::vector<Tensor> outputs) {
    marks_.non_differentiable = std::move(outputs);
  }
  /// Whether backward() gets zeros for outputs that no gradient arrived at (the default), or an
  /// undefined tensor.
  void set_materialize_grads(bool value) { materializes_ = value; }
  /// In forward(): whether argument `index` requires a gradient. In backward(): whether this run
  /// wants its gradient.
  bool needs_input_grad(size_t index) const;

 private:
  friend class autograd::FunctionCall;
  friend class autograd::FunctionNode;
  autograd::CustomMarks marks_;
  std::vector<int> edges_;    // by argument: its edge, or -1 if it is no tensor
  std::vector<bool> needed_;  // by argument
  std::vector<Tensor> saved_for_forward_;
  const std::vector<Tensor>* in_jvp_ = nullptr;  // what jvp() is to see of them, while it runs
  bool materializes_ = true;
};

namespace autograd {

/// One call of apply().
class EBB_API FunctionCall {
 public:
  using Backward = std::vector<Tensor> (*)(FunctionContext&, std::vector<Tensor>);
  using Jvp = Backward;
  enum class Order : uint8_t { any, first };

  /// `jvp`: null if there is none.
  FunctionCall(const char* name, Jvp jvp) : name_(name), jvp_(jvp) {}
  void add(const Tensor& input);
  template <typename Other>
  void add(const Other& /*argument*/) {
    add_other();
  }
  FunctionContext& context() { return *context_; }
  /// All arguments were added, and forward() is about to run.
  void begin();
  /// forward() has returned: records the call, or not.
  void finish(std::span<Tensor> outputs, Backward backward, Order order, void* return_address);

 private:
  void add_other();
  void propagate_tangents(const CustomCall& call, FunctionContext& context) const;

  const char* name_;
  Jvp jvp_;
  std::optional<CustomJvp> dual_;  // if an input carries a tangent
  std::vector<Tensor> inputs_;
  std::unique_ptr<FunctionContext> context_ = std::make_unique<FunctionContext>();
};

/// The last part of a type's name.
EBB_API std::string short_type_name(const std::type_info& type);

}  // namespace autograd

/// Base of a custom function; see the top of the file.
template <typename Derived>
class Function {
 public:
  /// Calls forward(ctx, arguments...) and records the call. Throws what forward() throws, and
  /// AutogradError for marks that make no sense.
  template <typename... Arguments>
  [[gnu::noinline]] static auto apply(const Arguments&... arguments) {
    static const std::string name = autograd::short_type_name(typeid(Derived));
    autograd::FunctionCall call(name.c_str(), jvp_of_derived());
    (call.add(arguments), ...);
    call.begin();
    auto result = [&] {
      const NoGradGuard guard;
      return Derived::forward(call.context(), arguments...);
    }();
    std::span<Tensor> outputs;
    if constexpr (std::is_same_v<decltype(result), Tensor>) {
      outputs = {&result, 1};
    } else {
      outputs = result;
    }
    call.finish(outputs, &Derived::backward, order(), __builtin_return_address(0));
    return result;
  }

 private:
  static constexpr autograd::FunctionCall::Jvp jvp_of_derived() {
    if constexpr (requires { &Derived::jvp; }) return &Derived::jvp;
    return nullptr;
  }
  static constexpr autograd::FunctionCall::Order order() {
    if constexpr (requires { Derived::kOnceDifferentiable; }) {
      if (Derived::kOnceDifferentiable) return autograd::FunctionCall::Order::first;
    }
    return autograd::FunctionCall::Order::any;
  }
};

}  // namespace ebb
