// ebb/autograd/checkpoint/selective_cache.cpp -- keeping results, and giving them out with a
// history.
#include "ebb/autograd/checkpoint/selective_cache.h"

#include <algorithm>
#include <utility>

#include "ebb/autograd/history/names/stale.h"
#include "ebb/autograd/history/record.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {

/// Where a tensor that the op saved for backward is found when the call is made again.
struct SavedSource {
  enum class Kind : uint8_t { operand, result, kept };
  Kind kind;
  uint32_t index = 0;  // of the operand or result
  Tensor value;        // if kept
};

namespace {

/// The tensors among the arguments, undefined ones too.
std::vector<Tensor> operands_of(const OpCall& call) {
  std::vector<Tensor> operands;
  for (const OpArgument& argument : call.arguments) {
    if (const auto* const one = std::get_if<const Tensor*>(&argument)) operands.push_back(**one);
    if (const auto* const list = std::get_if<std::span<const Tensor>>(&argument)) {
      operands.insert(operands.end(), list->begin(), list->end());
    }
  }
  return operands;
}

bool share_storage(const Tensor& one, const Tensor& other) {
  return one.defined() && other.defined() && one.impl()->storage == other.impl()->storage;
}

/// Whether both are the same elements in the same order.
bool is_same_value(const TensorImpl& one, const TensorImpl& other) {
  return one.data == other.data && one.storage == other.storage && one.dtype == other.dtype &&
         one.ndim == other.ndim && std::equal(one.sizes(), one.sizes() + one.ndim, other.sizes()) &&
         std::equal(one.strides(), one.strides() + one.ndim, other.strides());
}

/// Finds the source of each tensor that a node saved.
class SourceFinder final : public SavedVisitor {
 public:
  SourceFinder(std::span<const Tensor> operands, std::span<const Tensor> results)
      : operands_(operands), results_(results) {}
  void visit(const char* /*name*/, SavedTensor& saved) override {
    if (!saved.defined()) return;
    const auto is_saved = [&](const Tensor& tensor) {
      return tensor.defined() && is_same_value(*tensor.impl(), *saved.impl());
    };
    const auto index_in = [&](std::span<const Tensor> tensors) {
      return static_cast<size_t>(std::find_if(tensors.begin(), tensors.end(), is_saved) -
                                 tensors.begin());
    };
    const size_t operand = index_in(operands_), result = index_in(results_);
    if (operand < operands_.size()) {
      found.push_back({SavedSource::Kind::operand, static_cast<uint32_t>(operand), {}});
    } else if (result < results_.size()) {
      found.push_back({SavedSource::Kind::result, static_cast<uint32_t>(result), {}});
    } else {
      const Tensor value = Tensor::share(const_cast<TensorImpl*>(saved.impl()));
      found.push_back({SavedSource::Kind::kept, 0, detached(value)});
    }
  }
  std::vector<SavedSource> found;

 private:
  std::span<const Tensor> operands_, results_;
};

/// The history of results that were given out. It saves what the op's own node would.
class KeptResult final : public Node {
 public:
  const char* name() const override { return kKeptResult; }
  void apply(Tensor*, Tensor*, NodeRun&) override {
    throw AutogradError(
        "selective checkpoint: a result that was kept has no derivative while the function is "
        "computed again, got a backward pass inside of the function that reaches one"
        "\nhint: let the policy recompute the ops that the function differentiates itself");
  }
  void release_saved() noexcept override { saved_.reset(); }
  void visit_saved(SavedVisitor& visitor) override {
    if (saved_ == nullptr) return;
    for (size_t index = 0; index < count_; ++index) visitor.visit("kept", saved_[index]);
  }
  void save(std::span<const SavedSource> sources, std::span<const Tensor> operands,
            std::span<const Tensor> results) {
    saved_ = std::make_unique<SavedTensor[]>(sources.size());
    count_ = sources.size();
    for (size_t index = 0; index < count_; ++index) {
      const SavedSource& source = sources[index];
      switch (source.kind) {
        case SavedSource::Kind::operand:
          saved_[index].save_input(operands[source.index], source.index);
          break;
        case SavedSource::Kind::result: saved_[index].save_constant(results[source.index]); break;
        case SavedSource::Kind::kept: saved_[index].save_constant(source.value); break;
      }
    }
    mark_saved(*this);
  }

 private:
  std::unique_ptr<SavedTensor[]> saved_;
  size_t count_ = 0;
};

}  // namespace

/// One call that the policy wanted saved.
struct SelectiveCache::Entry {
  struct Result {
    Tensor value;
    uint32_t version = 0;
    bool has_history = false;
  };
  std::vector<Result> results;  // empty: it is computed again all the same
  std::vector<SavedSource> saved;
  LocationId location = 0;
  RandomState random_before, random_after;  // if the op drew
};

class SelectiveCache::Keeper final : public OpObserver {
 public:
  explicit Keeper(std::shared_ptr<SelectiveCache> cache) : cache_(std::move(cache)) {}

  std::optional<std::vector<Tensor>> supply(const OpCall& call) override {
    is_wanted_ = cache_->wants(call, false);
    if (is_wanted_) before_ = default_generator().state();
    return {};
  }

  void see(const OpCall& call, std::span<const Tensor> results) override {
    if (call.writes || !std::exchange(is_wanted_, false)) return;
    Entry entry;
    entry.location = call.location;
    entry.random_before = before_;
    entry.random_after = default_generator().state();
    const std::vector<Tensor> operands = operands_of(call);
    const auto is_fresh = [&](const Tensor& result) {
      return std::none_of(operands.begin(), operands.end(),
                          [&](const Tensor& operand) { return share_storage(operand, result); });
    };
    if (!call.has_tangents && std::all_of(results.begin(), results.end(), is_fresh)) {
      keep(entry, operands, results);
    }
    cache_->kept_[call.name].entries.push_back(std::move(entry));
  }

 private:
  static void keep(Entry& entry, std::span<const Tensor> operands,
                   std::span<const Tensor> results) {
    SourceFinder finder(operands, results);
    const Node* seen = nullptr;
    for (const Tensor& result : results) {
      if (!result.defined()) {
        entry.results.emplace_back();
        continue;
      }
      auto* const producer =
          result.requires_grad() ? static_cast<Node*>(result.impl()->producer) : nullptr;
      if (producer != nullptr && std::exchange(seen, producer) != producer) {
        SavedLock lock(*producer);
        producer->visit_saved(finder);
      }
      entry.results.push_back(
          {detached(result), result.impl()->storage->version(), producer != nullptr});
    }
    entry.saved = std::move(finder.found);
  }

  const std::shared_ptr<SelectiveCache> cache_;
  bool is_wanted_ = false;
  RandomState before_;
};

class SelectiveCache::Giver final : public OpObserver {
 public:
  explicit Giver(std::shared_ptr<SelectiveCache> cache) : cache_(std::move(cache)) {}

  std::optional<std::vector<Tensor>> supply(const OpCall& call) override {
    if (!cache_->wants(call, true)) return {};
    Kept& kept = cache_->kept_[call.name];
    if (kept.next >= kept.entries.size()) {
      throw AutogradError(
          str("selective checkpoint: what the policy saves must have been saved in the forward "
              "pass, got call ",
              kept.next + 1, " of ", call.name, " at ", line_of(call.location),
              " encountered during recomputation, of ", kept.entries.size(),
              " saved\nhint: the function must do the same work, and the policy answer the same, "
              "on every call"));
    }
    const Entry& entry = kept.entries[kept.next++];
    if (entry.results.empty()) return {};
    check(call, entry);
    skip_random(entry);
    return give(call, entry);
  }

 private:
  void check(const OpCall& call, const Entry& entry) const {
    if (cache_->allows_mutation_) return;
    for (const Entry::Result& result : entry.results) {
      if (!result.value.defined() || !is_stale(*result.value.impl(), result.version)) continue;
      throw AutogradError(
          str("selective checkpoint: a result that is kept must not be written to, got the result "
              "of ",
              call.name, " at ", line_of(entry.location),
              ", a tensor cached that has been mutated since\nhint: use out-of-place ops on it, "
              "let the policy recompute it, or pass allow_cache_entry_mutation=True"));
    }
  }

  /// An op that is not run draws no numbers: those after it must be the same all the same.
  static void skip_random(const Entry& entry) {
    const uint64_t drawn = entry.random_after.offset - entry.random_before.offset;
    if (drawn != 0) default_generator().reserve(drawn);
  }

  static std::vector<Tensor> give(const OpCall& call, const Entry& entry) {
    std::vector<Tensor> results;
    std::vector<Tensor> recorded;
    int most_dims = 0;
    for (const Entry::Result& result : entry.results) {
      results.push_back(result.value.defined() ? detached(result.value) : Tensor());
      if (!result.has_history) continue;
      recorded.push_back(results.back());
      most_dims = std::max(most_dims, results.back().ndim());
    }
    if (recorded.empty()) return results;
    const std::vector<Tensor> operands = operands_of(call);
    auto node =
        make_node<KeptResult>(std::max<size_t>(operands.size(), 1), recorded.size(), most_dims);
    uint64_t above = 0;
    for (size_t index = 0; index < operands.size(); ++index) {
      above = std::max(above, add_edge(*node, index, operands[index]));
    }
    node->save(entry.saved, operands, results);
    set_history(NodePtr<Node>(node.leak()), above, recorded, call.location);
    return results;
  }

  const std::shared_ptr<SelectiveCache> cache_;
};

SelectiveCache::SelectiveCache(CheckpointPolicyFunction policy, bool allows_mutation)
    : policy_(std::move(policy)), allows_mutation_(allows_mutation) {}
SelectiveCache::~SelectiveCache() = default;

std::shared_ptr<OpObserver> SelectiveCache::keeper() {
  kept_.clear();
  return std::make_shared<Keeper>(shared_from_this());
}

std::shared_ptr<OpObserver> SelectiveCache::giver() {
  for (auto& [op, kept] : kept_) kept.next = 0;
  return std::make_shared<Giver>(shared_from_this());
}

size_t SelectiveCache::bytes() const {
  size_t total = 0;
  const auto add = [&](const Tensor& value) {
    if (value.defined()) total += static_cast<size_t>(value.nbytes());
  };
  for (const auto& [op, kept] : kept_) {
    for (const Entry& entry : kept.entries) {
      for (const Entry::Result& result : entry.results) add(result.value);
      for (const SavedSource& source : entry.saved) add(source.value);
    }
  }
  return total;
}

bool SelectiveCache::wants(const OpCall& call, bool is_recompute) const {
  const CheckpointPolicy answer = policy_(call, is_recompute);
  return answer == CheckpointPolicy::must_save || answer == CheckpointPolicy::prefer_save;
}

}  // namespace ebb::autograd
