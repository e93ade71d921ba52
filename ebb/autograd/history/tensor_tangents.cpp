// ebb/autograd/history/tensor_tangents.cpp -- finds the list of a tensor in its meta.
#include "ebb/autograd/history/tensor_tangents.h"

#include <algorithm>
#include <utility>

#include "ebb/autograd/history/meta.h"

namespace ebb::autograd {

void (*adopt_tangents)(TensorImpl& view) = nullptr;

namespace {

/// The tensor's list, or null; the flag is asked first, since most tensors have no meta.
const Tangents* tangents_of(const Tensor& tensor) {
  const TensorImpl* const impl = tensor.impl();
  const bool may_carry = impl != nullptr && (impl->flags & gate::kTangent) != 0;
  if (!may_carry || impl->meta == nullptr) return nullptr;
  return &static_cast<const AutogradMeta*>(impl->meta)->tangents;
}

}  // namespace

Tensor tangent_of(const Tensor& tensor, const ForwardLevel& level) {
  const Tangents* const tangents = tangents_of(tensor);
  const TangentEntry* const entry = tangents == nullptr ? nullptr : tangents->find(level);
  return entry == nullptr ? Tensor() : level.value_of(*entry);
}

void set_tangent(const Tensor& tensor, const ForwardLevelPtr& level, Tensor tangent,
                 TangentMemory memory) {
  AutogradMeta& meta = ensure_meta(tensor);
  meta.tangents.set(level, std::move(tangent), memory);
  meta.drop_twin();  // it carries the tangents of before
  tensor.impl()->flags |= gate::kTangent;
}

void mark_given(const Tensor& tensor, const ForwardLevel& level) {
  TangentEntry* const entry = ensure_meta(tensor).tangents.find(level);
  if (entry != nullptr) entry->given_at = tensor.impl()->storage->version();
}

void drop_tangents(const Tensor& tensor, uint64_t from_level) {
  AutogradMeta* const meta = meta_of(tensor);
  if (meta == nullptr) return;
  meta->tangents.drop_from(from_level);
  meta->drop_twin();
  if (meta->tangents.first() == nullptr) {
    tensor.impl()->flags &= static_cast<uint8_t>(~gate::kTangent);
  }
}

void copy_tangents(const Tensor& source, const Tensor& target) {
  const Tangents* const tangents = tangents_of(source);
  if (tangents == nullptr) return;
  for (const TangentEntry* entry = tangents->first(); entry != nullptr; entry = entry->lower) {
    Tensor value = entry->level->value_of(*entry);
    if (value.defined()) {
      set_tangent(target, entry->level, std::move(value), TangentMemory::shared);
    }
  }
}

void add_levels(const Tensor& tensor, std::vector<ForwardLevelPtr>& levels) {
  const Tangents* const tangents = tangents_of(tensor);
  if (tangents == nullptr) return;
  for (const TangentEntry* entry = tangents->first(); entry != nullptr; entry = entry->lower) {
    if (!entry->level->value_of(*entry).defined()) continue;
    const auto place = std::lower_bound(
        levels.begin(), levels.end(), entry->level->id(),
        [](const ForwardLevelPtr& level, uint64_t id) { return level->id() < id; });
    if (place == levels.end() || *place != entry->level) levels.insert(place, entry->level);
  }
}

bool is_dual(const Tensor& tensor) {
  std::vector<ForwardLevelPtr> levels;
  add_levels(tensor, levels);
  return !levels.empty();
}

Tensor below_level(const Tensor& tensor, const ForwardLevel& level) {
  const Tangents* const tangents = tangents_of(tensor);
  if (tangents == nullptr || tangents->first() == nullptr) return tensor;
  if (tangents->first()->level->id() < level.id()) return tensor;
  const Tensor lower = detached(tensor);
  const TensorImpl& source = *tensor.impl();
  TensorImpl& impl = *lower.impl();
  if (source.producer != nullptr) source.producer->retain();
  impl.producer = source.producer;
  impl.output_index = source.output_index;
  impl.flags |= source.flags & (gate::kRequiresGrad | TensorImpl::kLeaf);
  for (const TangentEntry* entry = tangents->first(); entry != nullptr; entry = entry->lower) {
    if (entry->level->id() >= level.id()) continue;
    Tensor value = entry->level->value_of(*entry);
    if (value.defined()) set_tangent(lower, entry->level, std::move(value), TangentMemory::shared);
  }
  return lower;
}

}  // namespace ebb::autograd
