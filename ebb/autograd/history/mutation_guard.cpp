// ebb/autograd/history/mutation_guard.cpp -- copies saved tensors just before they are written to.
//
// Memory with saved tensors is marked (Storage::guard_writes). An in-place op announces that it is
// going to write it; then what was saved of those elements is copied, and the mark taken away if
// nothing else is left. A copy is shared by those that saved the same elements.
#include "ebb/autograd/history/mutation_guard.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ebb/core/base/error.h"
#include "ebb/core/tensor/announced_write.h"
#include "ebb/core/tensor/byte_region.h"
#include "ebb/ops/prepare.h"

namespace ebb {
namespace {

/// One saved tensor: the original until its memory is written, a copy from then on.
struct SavedOriginal {
  Tensor value;

  explicit SavedOriginal(Tensor original);
  ~SavedOriginal();
  SavedOriginal(const SavedOriginal&) = delete;
  SavedOriginal& operator=(const SavedOriginal&) = delete;
};

/// All saved originals, by their memory.
struct Registry {
  std::mutex mutex;
  std::unordered_multimap<const Storage*, SavedOriginal*> originals;
};
Registry& registry() {
  static auto* const instance = new Registry();  // never destroyed: graphs may outlive statics
  return *instance;
}

using Elements = std::tuple<const void*, DType, std::vector<int64_t>, std::vector<int64_t>>;

Elements elements_of(const Tensor& value) {
  const IntSpan sizes = value.sizes(), strides = value.strides();
  return {value.data_ptr(),
          value.dtype(),
          {sizes.begin(), sizes.end()},
          {strides.begin(), strides.end()}};
}

void copy_originals(Storage& storage) {
  Registry& all = registry();
  std::vector<Tensor> replaced;  // dies after the lock is gone
  const std::lock_guard lock(all.mutex);
  const TensorImpl* const target = detail::announced_write;
  auto [entry, last] = all.originals.equal_range(&storage);
  std::map<Elements, Tensor> copies;
  bool is_left = false;
  while (entry != last) {
    Tensor& value = entry->second->value;
    if (target != nullptr && !may_meet(region_of(*target), {}, region_of(*value.impl()))) {
      is_left = true;
      ++entry;
      continue;
    }
    Tensor& copy = copies[elements_of(value)];
    if (!copy.defined()) copy = ops::copy_as("allow_mutation", value, value.dtype());
    replaced.push_back(std::exchange(value, copy));
    entry = all.originals.erase(entry);
  }
  if (is_left) storage.guard_writes();
}

SavedOriginal::SavedOriginal(Tensor original) : value(std::move(original)) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.originals.emplace(value.impl()->storage, this);
  value.impl()->storage->guard_writes();
}

SavedOriginal::~SavedOriginal() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto [first, last] = all.originals.equal_range(value.impl()->storage);
  const auto own =
      std::find_if(first, last, [this](const auto& entry) { return entry.second == this; });
  if (own != last) all.originals.erase(own);
}

class MutationHooks final : public SavedTensorsHooks {
 public:
  std::any pack(const Tensor& value) override { return std::make_shared<SavedOriginal>(value); }
  Tensor unpack(const std::any& packed) override { return value_of(packed); }
  std::vector<Tensor> tensors_in(const std::any& packed) const override {
    return {value_of(packed)};
  }

 private:
  static Tensor value_of(const std::any& packed) {
    const auto& original = *std::any_cast<std::shared_ptr<SavedOriginal>>(&packed);
    const std::lock_guard lock(registry().mutex);
    return original->value;
  }
};

thread_local bool is_allowed = false;

}  // namespace

AllowMutationGuard::AllowMutationGuard() {
  if (is_allowed) {
    throw AutogradError(
        "allow_mutation_on_saved_tensors: contexts cannot be nested, got one inside another");
  }
  detail::before_guarded_write = copy_originals;
  push_saved_tensors_hooks(std::make_shared<MutationHooks>());
  is_allowed = true;
}

AllowMutationGuard::~AllowMutationGuard() {
  pop_saved_tensors_hooks();
  is_allowed = false;
}

}  // namespace ebb
