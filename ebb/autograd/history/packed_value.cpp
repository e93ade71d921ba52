// ebb/autograd/history/packed_value.cpp -- runs pack and unpack hooks, and checks what they did.
#include "ebb/autograd/history/packed_value.h"

#include <atomic>
#include <utility>

#include "ebb/autograd/history/names/stale.h"
#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/core/base/call_name.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

std::atomic<int64_t> live_values{0};
thread_local constinit const char* op_that_saves = nullptr;

/// The memory of all husks: no bytes. Never freed.
Storage* no_memory() {
  static Storage* const storage = Storage::allocate(0);
  storage->retain();
  return storage;
}

/// Shape, dtype and device of `value` without its elements; takes over `packed`.
TensorImpl* make_husk(const TensorImpl& value, AutogradMetaBase* packed) {
  TensorImpl* const husk = TensorImpl::create(value.ndim, value.dtype, no_memory(), nullptr);
  husk->copy_geometry(value);
  husk->device = value.device;
  husk->layout = value.layout;
  husk->meta = packed;
  return husk;
}

std::any call_pack(SavedTensorsHooks& hooks, const Tensor& value, const SavedName& name) {
  const CallName nobody(nullptr);  // the hook's errors are its own
  // A custom function's name goes with its node.
  op_that_saves = name.owner.kind() == NodeKind::custom ? "a Function" : name.owner.name();
  const uint32_t before = value.version();
  std::any packed = hooks.pack(value);
  if (value.version() != before) {
    throw AutogradError(str(name.owner.name(), ": a pack hook must leave what it is given, '",
                            name.name, "', as it is, got it modified in place",
                            "\nhint: clone() it in the hook"));
  }
  return packed;
}

}  // namespace

const char* packing_op() { return op_that_saves; }

PackedValue::PackedValue(bool is_own) : is_own_(is_own) {
  if (!is_own_) live_values.fetch_add(1, std::memory_order_relaxed);
}
PackedValue::~PackedValue() {
  if (!is_own_) live_values.fetch_sub(1, std::memory_order_relaxed);
}
bool PackedValue::any_alive() { return live_values.load(std::memory_order_relaxed) != 0; }

TensorImpl* PackedValue::pack(const std::shared_ptr<const HookFrame>& frame,
                              const TensorImpl& value, uint32_t version, Origin origin,
                              const SavedName& name) {
  const HookCallScope scope;
  value.storage->mark_packed();
  std::any packed = detached(Tensor::share(const_cast<TensorImpl*>(&value)));
  uint32_t applied = 0;
  for (const HookFrame* next = frame.get(); next != nullptr; next = next->outer.get()) {
    const Tensor* const given = std::any_cast<Tensor>(&packed);
    if (given == nullptr || !given->defined()) break;
    const Tensor kept = *given;
    packed = call_pack(*next->hooks, kept, name);
    ++applied;
  }
  const bool is_own = dynamic_cast<const OwnHooks*>(frame->hooks.get()) != nullptr;
  auto* const made = new PackedValue(is_own);
  made->value_ = std::move(packed);
  made->frame_ = frame;
  made->storage_ = value.storage;
  made->version_ = version;
  made->applied_ = applied;
  made->origin_ = origin;
  try {
    return make_husk(value, made);
  } catch (...) {
    delete made;
    throw;
  }
}

Tensor PackedValue::unpack(const SavedName& name, const TensorImpl& husk) const {
  Tensor value;
  {
    const HookCallScope scope;
    std::vector<SavedTensorsHooks*> hooks;
    const HookFrame* next = frame_.get();
    for (uint32_t count = 0; count < applied_; ++count, next = next->outer.get()) {
      hooks.push_back(next->hooks.get());
    }
    value = hooks.back()->unpack(value_);
    for (size_t left = hooks.size() - 1; left > 0 && value.defined(); --left) {
      value = hooks[left - 1]->unpack(std::any(std::move(value)));
    }
  }
  check(name, husk, value);
  return value;
}

void PackedValue::check(const SavedName& name, const TensorImpl& husk, const Tensor& value) const {
  const auto start = [&] { return str(name.owner.name(), ": the unpack hook of '", name.name); };
  if (!value.defined()) {
    throw DTypeError(str(start(), "' must return a Tensor, got an undefined one"));
  }
  if (!equal(value.sizes(), husk.shape())) {
    throw ShapeError(str(start(), "' must return the shape saved, ", PrintShape{husk.shape()},
                         ", got ", PrintShape{value.sizes()}));
  }
  if (value.dtype() != husk.dtype) {
    throw DTypeError(
        str(start(), "' must return the dtype saved, ", husk.dtype, ", got ", value.dtype()));
  }
  if (value.device() != revealed(husk.device)) {
    throw ValueError(str(start(), "' must return it on the device saved, ", to_string(husk.device),
                         ", got ", to_string(value.device())));
  }
  // The mark tells memory that was packed from memory that came to lie at the same place later.
  const Storage& memory = *value.impl()->storage;
  if (&memory == storage_ && memory.was_packed()) {
    refuse_stale({name.owner, name.name, {}}, *value.impl(), version_);
  }
}

void PackedValue::carry_tangents(const Tensor& source) {
  std::vector<ForwardLevelPtr> levels;
  add_levels(source, levels);
  for (const ForwardLevelPtr& level : levels) {
    tangents_.set(level, tangent_of(source, *level), TangentMemory::shared);
  }
}

void PackedValue::give_tangents(const Tensor& value) const {
  for (const TangentEntry* entry = tangents_.first(); entry != nullptr; entry = entry->lower) {
    Tensor tangent = entry->level->value_of(*entry);
    if (tangent.defined()) {
      set_tangent(value, entry->level, std::move(tangent), TangentMemory::shared);
    }
  }
}

std::vector<Tensor> PackedValue::kept() const {
  const HookFrame* last = frame_.get();
  for (uint32_t count = 1; count < applied_; ++count) last = last->outer.get();
  return last->hooks->tensors_in(value_);
}

}  // namespace ebb::autograd
