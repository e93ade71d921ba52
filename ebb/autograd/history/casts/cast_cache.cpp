// ebb/autograd/history/casts/cast_cache.cpp -- looking casts up, and when one still serves.
#include "ebb/autograd/history/casts/cast_cache.h"

#include <utility>

#include "ebb/autograd/history/casts/remade_cast.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/amp_cast.h"

namespace ebb::autograd {

CastCache::Found CastCache::get(const Tensor& leaf, DType dtype) {
  const auto [kept, was_seen] = find(leaf, dtype);
  if (kept.defined()) return {kept, true};
  const Tensor made = ebb::amp_cast(leaf, dtype);
  const bool keeps = was_seen || made.nbytes() < kLeastRemadeBytes;
  const Tensor held = keeps ? made : Tensor();
  Entry entry{leaf, detached(leaf), held, dtype, leaf.version(), leaf.impl()->producer};
  const std::lock_guard lock(mutex_);  // released before what was there dies, with hooks perhaps
  std::swap(casts_[leaf.impl()], entry);
  return {made, keeps};
}

void CastCache::clear() noexcept {
  std::unordered_map<const TensorImpl*, Entry> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(casts_);
}

std::pair<Tensor, bool> CastCache::find(const Tensor& leaf, DType dtype) {
  const std::lock_guard lock(mutex_);
  const auto found = casts_.find(leaf.impl());
  if (found == casts_.end()) return {};
  const Entry& entry = found->second;
  if (!entry.holds_for(leaf) || entry.dtype != dtype) return {};
  const bool lacks_history =
      is_grad_enabled() && entry.cast.defined() && !entry.cast.requires_grad();
  return {lacks_history ? Tensor() : entry.cast, true};
}

bool CastCache::Entry::holds_for(const Tensor& now) const {
  const TensorImpl& old = *seen.impl();
  const TensorImpl& impl = *now.impl();
  return version == now.version() && producer == impl.producer && old.data == impl.data &&
         old.storage == impl.storage && equal(seen.strides(), now.strides());
}

}  // namespace ebb::autograd
