// ebb/autograd/history/packed_value.h -- what stands for a saved tensor that hooks have packed.
//
// A SavedTensor has room for one pointer to a tensor. So a packed one points to a husk: a tensor of
// the same shape, dtype and device without elements, whose meta is the PackedValue. The husk's
// memory has a version that never matches, which leads unpack() off its straight path; releasing
// the husk releases what was packed.
#pragma once

#include <any>
#include <memory>

#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/saved_hooks.h"
#include "ebb/autograd/history/tangents.h"
#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd {

/// Which saved value of which node, for messages.
struct SavedName {
  const Node& owner;
  const char* name;
};

/// While a pack hook runs: the name of the op that saves; that of all custom functions is one.
EBB_API const char* packing_op();

/// Hooks of ebb's own: they call no Python, so any thread may run them.
class OwnHooks : public SavedTensorsHooks {};

/// Lives and dies with its husk; but for tangents it does not change.
class PackedValue final : public AutogradMetaBase {
 public:
  /// Where the history of the value comes from.
  enum class Origin : uint8_t { edge, copy, output, constant };  // a copy has its edge
  /// What a SavedTensor of this kind notes as its version; the husk's memory has another.
  static constexpr uint32_t kHuskVersion = 1;

  /// Runs the pack hooks on `value`, saved at `version`, innermost first: a hook further out gets
  /// what the one before it returned, as long as that is a tensor. Returns the husk, counted.
  static TensorImpl* pack(const std::shared_ptr<const HookFrame>& frame, const TensorImpl& value,
                          uint32_t version, Origin origin, const SavedName& name);
  static const PackedValue& behind(const TensorImpl& husk) {
    return *static_cast<const PackedValue*>(husk.meta);
  }

  static PackedValue& behind(TensorImpl& husk) { return *static_cast<PackedValue*>(husk.meta); }

  /// Keeps the forward-mode tangents of `source`, which hooks do not see.
  void carry_tangents(const Tensor& source);
  bool has_tangents() const { return tangents_.first() != nullptr; }
  /// Lets `value` carry them.
  void give_tangents(const Tensor& value) const;

  /// Runs the unpack hooks, outermost first, and checks what they return: it must look like `husk`,
  /// and if it has the memory of the tensor saved, must not have been written to since.
  Tensor unpack(const SavedName& name, const TensorImpl& husk) const;

  /// Whether there is one anywhere that was not packed by OwnHooks: to unpack it may call Python.
  static bool any_alive();

  Origin origin() const { return origin_; }
  uint32_t version() const { return version_; }
  /// The memory of the tensor saved: an identity only, it may be gone.
  const Storage* storage() const { return storage_; }
  /// The tensors that are kept instead, as far as the hooks can tell.
  std::vector<Tensor> kept() const;
  const std::any& value() const { return value_; }

  void owner_died() noexcept override { delete this; }

 private:
  explicit PackedValue(bool is_own);
  ~PackedValue() override;
  void check(const SavedName& name, const TensorImpl& husk, const Tensor& value) const;

  std::any value_;
  Tangents tangents_;
  std::shared_ptr<const HookFrame> frame_;  // the innermost pair of hooks
  const Storage* storage_ = nullptr;
  uint32_t version_ = 0;
  uint32_t applied_ = 0;  // how many pairs have packed, from the innermost
  Origin origin_ = Origin::constant;
  bool is_own_;
};

}  // namespace ebb::autograd
