// ebb/autograd/watch/cut_trace.cpp -- the notes of traced cuts.
//
// A node is noted when a value that it made is first cut off, with all that is recorded behind it
// and not noted yet: so each node is looked at once, and graphs that nothing is cut from cost
// nothing.
#include "ebb/autograd/watch/cut_trace.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <new>

#include "ebb/autograd/history/meta.h"
#include "ebb/autograd/history/op_support.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/watch/cut_notes.h"

namespace ebb {

void forget_cuts() {
  autograd::CutNotes& notes = autograd::CutNotes::shared();
  const std::lock_guard lock(notes.mutex());
  notes.clear();
}

namespace autograd {

namespace {

/// Sources of one call, mostly few.
class SourceList {
 public:
  void add(NoteSource source) {
    const auto known = all();
    if (std::find(known.begin(), known.end(), source) != known.end()) return;
    if (count_ < few_.size()) {
      few_[count_++] = source;
      return;
    }
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back(source);
  }
  std::span<const NoteSource> all() const {
    return many_.empty() ? std::span(few_.data(), count_) : std::span(many_);
  }

 private:
  std::array<NoteSource, 8> few_{};
  size_t count_ = 0;
  std::vector<NoteSource> many_;
};

bool is_traced(Origin origin) { return (origin & kTracedOrigin) != 0; }
Origin traced_origin(Cut cut, NoteId note) {
  return make_origin(cut, kTracedOrigin | static_cast<uint32_t>(note & kNoteMask));
}
Cut cut_of(Origin origin) { return static_cast<Cut>(origin >> 30); }

/// The notes, under their lock.
class LockedNotes {
 public:
  LockedNotes() : lock_(CutNotes::shared().mutex()) {}
  ~LockedNotes() {
    const std::vector<Tensor> held = CutNotes::shared().take_held();
    lock_.unlock();
  }
  CutNotes& get() const { return CutNotes::shared(); }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Calls `work` with the notes, with room for more. Without memory nothing is noted: what is traced
/// must not fail for that.
template <typename Work>
void take_notes(Work work) {
  try {
    const LockedNotes locked;
    locked.get().make_room();
    work(locked.get());
  } catch (const std::bad_alloc&) {
  }
}

/// One result under the lock.
class ResultNote {
 public:
  ResultNote(CutNotes& notes, const TracedCall& call, const Tensor& result)
      : notes_(notes), call_(call), result_(result) {}

  /// Something flowed into a recorded result that no gradient goes back to.
  void join_constants(std::span<const Tensor* const> operands) {
    const uint64_t sequence = gradient_edge(result_).node->sequence();
    const auto join = [&](Origin origin) {
      const NoteId note = is_traced(origin) ? notes_.note_of_origin(origin) : kNoNote;
      if (note != kNoNote) notes_.join(sequence, note);
    };
    join(call_.before);
    for (const Tensor* operand : operands) join(origin_of(*operand));
  }

  void add(std::span<const Tensor* const> operands) {
    SourceList sources;
    bool cuts = false;
    Origin inherited = 0;
    for (const Tensor* operand : operands) {
      NoteSource source = 0;
      if (!operand->defined() || operand->is_same(result_)) continue;
      if (operand->requires_grad() && notes_.find_source(*operand, source)) {
        cuts = true;
        sources.add(source);
      } else {
        inherit(origin_of(*operand), sources, inherited);
      }
    }
    if (sources.all().empty()) return;
    inherit(call_.before, sources, inherited);
    const Cut cut = cuts ? own_cut() : cut_of(inherited);
    const NoteId note = notes_.add({.name = notes_.kept_name(call_.op, !call_.is_custom),
                                    .place = call_.place,
                                    .context = current_op_context(),
                                    .first_source = 0,
                                    .source_count = 0,
                                    .kind = NoteKind::unrecorded,
                                    .cut = cut},
                                   sources.all());
    give(*result_.impl(), cut, note);
    if (TensorImpl* const base = result_.impl()->base(); call_.writes && base != nullptr) {
      give(*base, cut, note);
    }
  }

 private:
  void inherit(Origin origin, SourceList& sources, Origin& inherited) {
    if (!is_traced(origin) || notes_.note_of_origin(origin) == kNoNote) return;
    sources.add(origin & kNoteMask);
    if (inherited == 0) inherited = origin;
  }

  Cut own_cut() const {
    if (!call_.writes && origin_of(result_) != 0) return cut_of(origin_of(result_));
    const bool is_off = (call_.bits & (gate::kNoGrad | gate::kInference)) != 0;
    return is_off ? Cut::no_grad : Cut::not_differentiable;
  }

  /// What was written goes on with this note; a tensor with history gets it as one more operand.
  void give(TensorImpl& impl, Cut cut, NoteId note) {
    if (impl.producer == nullptr) {
      impl.output_index = traced_origin(cut, note);
      return;
    }
    auto& producer = *static_cast<Node*>(impl.producer);
    if (!producer.is_accumulator()) return notes_.join(producer.sequence(), note);
    impl.retain();
    NoteSource leaf = 0;
    if (notes_.find_source(Tensor::adopt(&impl), leaf)) {
      notes_.join(CutNotes::join_of_leaf(leaf), note);
    }
  }

  CutNotes& notes_;
  const TracedCall& call_;
  const Tensor& result_;
};

/// A note with the one value `tensor` as its source; kNoNote if nothing is known of that.
NoteId note_of_value(CutNotes& notes, const CutNote& note, const Tensor& tensor) {
  NoteSource source = 0;
  if (!tensor.requires_grad() || !notes.find_source(tensor, source)) {
    const Origin origin = origin_of(tensor);
    if (!is_traced(origin) || notes.note_of_origin(origin) == kNoNote) return kNoNote;
    source = origin & kNoteMask;
  }
  return notes.add(note, {&source, 1});
}

CutNote plain_note(const char* name, NoteKind kind, Cut cut) {
  return {.name = name,
          .place = current_location(nullptr),
          .context = current_op_context(),
          .first_source = 0,
          .source_count = 0,
          .kind = kind,
          .cut = cut};
}

}  // namespace

CutNotes& CutNotes::shared() {
  static CutNotes* const instance = [] {
    auto* const made = new CutNotes();  // never destroyed: leaves die until the end
    pthread_atfork([] { shared().mutex_.lock(); }, [] { shared().mutex_.unlock(); },
                   [] { shared().mutex_.unlock(); });
    return made;
  }();
  return *instance;
}

std::span<const NoteSource> CutNotes::sources_of(NoteId id) const {
  const CutNote& note = at(id);
  return std::span(sources_).subspan(note.first_source - first_source_, note.source_count);
}

NoteId CutNotes::note_of(uint32_t low) const {
  const uint64_t ahead = (low - static_cast<uint32_t>(first_)) & kNoteMask;
  return ahead < notes_.size() ? first_ + ahead : kNoNote;
}

NoteId CutNotes::note_of_origin(Origin origin) const {
  return is_traced(origin) ? note_of(origin & kNoteMask) : kNoNote;
}

NoteId CutNotes::note_of_node(uint64_t sequence) const {
  const auto found = nodes_.find(sequence);
  return found == nodes_.end() ? kNoNote : found->second;
}

NoteSource CutNotes::source_of_leaf(const Node& accumulator) const {
  const auto found = leaves_.find(&accumulator);
  return found == leaves_.end() ? 0 : found->second;
}

size_t CutNotes::memory_bytes() const {
  constexpr size_t kMapEntry = 56;  // a node of a hash map, and its place in the table
  return notes_.capacity() * sizeof(CutNote) + sources_.capacity() * sizeof(NoteSource) +
         (nodes_.size() + joins_.size() + leaves_.size()) * kMapEntry;
}

NoteId CutNotes::add(CutNote note, std::span<const NoteSource> sources) {
  note.first_source = first_source_ + static_cast<uint32_t>(sources_.size());
  note.source_count = static_cast<uint32_t>(sources.size());
  sources_.insert(sources_.end(), sources.begin(), sources.end());
  notes_.push_back(note);
  has_left_ |= note.kind == NoteKind::left;
  return end() - 1;
}

bool CutNotes::find_source(const Tensor& tensor, NoteSource& source) {
  const Edge edge = gradient_edge(tensor);
  if (edge.node == nullptr) return false;
  source = edge.node->is_accumulator() ? leaf_source(*edge.node) : node_source(*edge.node);
  return source != kLeafSource;
}

/// A leaf that is gone already has no number: nobody can ask for it.
NoteSource CutNotes::leaf_source(Node& accumulator) {
  const auto found = leaves_.find(&accumulator);
  if (found != leaves_.end()) return found->second;
  held_.push_back(static_cast<AccumulateGrad&>(accumulator).share_leaf());
  if (!held_.back().defined()) return kLeafSource;
  any_leaf_noted = true;
  const NoteSource source = kLeafSource | next_leaf_++;
  leaves_.emplace(&accumulator, source);
  return source;
}

/// Notes the nodes behind `node`, those furthest behind first, with an explicit stack. Of a graph
/// larger than half of what is kept, the rest stays unknown.
NoteSource CutNotes::node_source(Node& node) {
  std::vector<std::pair<Node*, size_t>> stack;  // a node, and its next edge to follow
  std::unordered_set<uint64_t> begun;
  size_t left = kMostNotes / 2;
  const auto enter = [&](Node* one) {
    if (one == nullptr || one->is_accumulator() || nodes_.contains(one->sequence())) return;
    if (left == 0 || !begun.insert(one->sequence()).second) return;
    --left;
    stack.emplace_back(one, 0);
  };
  enter(&node);
  while (!stack.empty()) {
    auto& [one, edge] = stack.back();
    if (edge < one->edge_count()) {
      enter(one->edges()[edge++].node);
    } else {
      Node* const done = one;
      stack.pop_back();
      add_node(*done);
    }
  }
  const NoteId found = note_of_node(node.sequence());
  return found == kNoNote ? kLeafSource : static_cast<NoteSource>(found & kNoteMask);
}

void CutNotes::add_node(Node& node) {
  SourceList sources;
  for (const Edge& edge : node.edges()) {
    if (edge.node == nullptr) continue;
    if (edge.node->is_accumulator()) {
      const NoteSource leaf = leaf_source(*edge.node);
      if (leaf != kLeafSource) sources.add(leaf);
    } else if (const NoteId behind = note_of_node(edge.node->sequence()); behind != kNoNote) {
      sources.add(static_cast<NoteSource>(behind & kNoteMask));
    }
  }
  for_joined(node.sequence(), [&](NoteId note) {
    if (note >= first_) sources.add(static_cast<NoteSource>(note & kNoteMask));
  });
  const OpContext context = node.output_count() > 0 ? node.output_meta(0).context : 0;
  const NoteId made = add({.name = kept_name(node.name(), node.kind() != NodeKind::custom),
                           .place = node.location(),
                           .context = context,
                           .first_source = 0,
                           .source_count = 0,
                           .kind = NoteKind::recorded,
                           .cut = Cut::never_asked},
                          sources.all());
  nodes_.emplace(node.sequence(), made);
}

const char* CutNotes::kept_name(const char* name, bool is_static) {
  return is_static ? name : names_.emplace(name).first->c_str();
}

void CutNotes::make_room() {
  if (notes_.size() > kMostNotes / 2 || sources_.size() > kMostSources / 2) {
    // One call may add half of all: the latest quarter of what may be there stays.
    const size_t kept = std::min(notes_.size() / 2, kMostNotes / 4);
    drop_first(notes_.size() - kept);
  }
}

void CutNotes::drop_first(size_t count) {
  first_ += count;
  notes_.erase(notes_.begin(), notes_.begin() + static_cast<ptrdiff_t>(count));
  const uint32_t end_of_sources = first_source_ + static_cast<uint32_t>(sources_.size());
  const uint32_t begin = notes_.empty() ? end_of_sources : notes_.front().first_source;
  sources_.erase(sources_.begin(), sources_.begin() + (begin - first_source_));
  first_source_ = begin;
  std::erase_if(nodes_, [&](const auto& entry) { return entry.second < first_; });
  std::erase_if(joins_, [&](const auto& entry) { return entry.second < first_; });
}

void CutNotes::clear() {
  first_ = end();
  first_source_ = 0;
  has_left_ = false;
  notes_ = std::vector<CutNote>();  // = {} would keep the memory
  sources_ = std::vector<NoteSource>();
  nodes_ = {};
  joins_ = {};
  leaves_ = {};
  any_leaf_noted = !frozen_.empty();
}

void note_result(const TracedCall& call, const Tensor& result,
                 std::span<const Tensor* const> operands) {
  if (!result.defined()) return;
  const auto matters = [](const Tensor* operand) {
    return operand->defined() && (operand->requires_grad() || is_traced(origin_of(*operand)));
  };
  if (!std::any_of(operands.begin(), operands.end(), matters) && !is_traced(call.before)) return;
  const bool is_off = (call.bits & (gate::kNoGrad | gate::kInference)) != 0;
  const bool is_recorded = result.requires_grad() && !is_off;
  take_notes([&](CutNotes& notes) {
    ResultNote note(notes, call, result);
    is_recorded ? note.join_constants(operands) : note.add(operands);
  });
}

void note_results(TracedCall call, std::span<const Tensor> results,
                  std::span<const Tensor> operands) {
  call.is_custom = true;
  std::vector<const Tensor*> pointers;
  for (const Tensor& operand : operands) pointers.push_back(&operand);
  for (const Tensor& result : results) note_result(call, result, pointers);
}

void note_no_gradient(const char* op, const Tensor& result, uint32_t bits, void* return_address,
                      std::initializer_list<const Tensor*> operands) {
  const LocationId place = current_location(return_address);
  if ((bits & gate::kRequiresGrad) != 0) mark_cut(result, Cut::not_differentiable, place);
  if ((bits & gate::kCutTrace) == 0) return;
  note_result({.op = op, .bits = bits, .place = place}, result, {operands.begin(), operands.end()});
}

void note_detached(const char* op, const Tensor& out, const Tensor& input, LocationId place) {
  if (!input.requires_grad()) return inherit_origin(out, input);
  mark_cut(out, Cut::detached, place);
  if (!is_tracing_cuts()) return;
  const Tensor* const operand = &input;
  note_result({.op = op, .bits = thread_state.modes, .place = place}, out, {&operand, 1});
}

void note_leaving(const char* how, const Tensor& tensor) {
  if (!tensor.defined()) return;
  settle(tensor);
  take_notes([&](CutNotes& notes) {
    note_of_value(notes, plain_note(how, NoteKind::left, Cut::detached), tensor);
  });
}

void note_entering(const char* how, const Tensor& tensor) {
  if (tensor.impl()->producer != nullptr) return;
  take_notes([&](CutNotes& notes) {
    if (!notes.has_left()) return;
    const NoteId note = notes.add(plain_note(how, NoteKind::entered, Cut::never_asked), {});
    set_origin(tensor, traced_origin(Cut::never_asked, note));
  });
}

LocationId frozen_at(const Tensor& leaf) {
  const auto* const accumulator = static_cast<const Node*>(leaf.impl()->producer);
  if (accumulator == nullptr) return 0;
  CutNotes& notes = CutNotes::shared();
  const std::lock_guard lock(notes.mutex());
  const auto found = notes.frozen().find(accumulator);
  return found == notes.frozen().end() ? 0 : found->second;
}

namespace {

/// What history tells of.
class Listener final : public CutObserver {
 public:
  void leaf_frozen(const Node& accumulator, LocationId place) override;
  void leaf_thawed(const Node& accumulator) override;
  void leaf_died(const Node& accumulator) noexcept override;
  Origin detaching(const char* op, const Tensor& tensor, Origin otherwise) override;
  LocationId place_of(Origin origin) override;
};

void Listener::leaf_frozen(const Node& accumulator, LocationId place) {
  CutNotes& notes = CutNotes::shared();
  const std::lock_guard lock(notes.mutex());
  any_leaf_noted = true;
  notes.frozen()[&accumulator] = place;
}

void Listener::leaf_thawed(const Node& accumulator) {
  if (!any_leaf_noted.load(std::memory_order_relaxed)) return;
  CutNotes& notes = CutNotes::shared();
  const std::lock_guard lock(notes.mutex());
  notes.frozen().erase(&accumulator);
}

void Listener::leaf_died(const Node& accumulator) noexcept {
  const LockedNotes locked;
  CutNotes& notes = locked.get();
  notes.forget_leaf(accumulator);
}

Origin Listener::detaching(const char* op, const Tensor& tensor, Origin otherwise) {
  Origin origin = otherwise;
  take_notes([&](CutNotes& notes) {
    const CutNote detaching = plain_note(op, NoteKind::unrecorded, Cut::detached);
    const NoteId note = note_of_value(notes, detaching, tensor);
    if (note != kNoNote) origin = traced_origin(Cut::detached, note);
  });
  return origin;
}

LocationId Listener::place_of(Origin origin) {
  if (!is_traced(origin)) return origin & 0x3fffffffu;
  const LockedNotes locked;
  CutNotes& notes = locked.get();
  const NoteId note = notes.note_of_origin(origin);
  return note == kNoNote ? 0 : notes.at(note).place;
}

[[maybe_unused]] const bool listens_to_cuts = [] {
  static constinit Listener listener;
  cut_observer = &listener;
  return true;
}();

}  // namespace

}  // namespace autograd
}  // namespace ebb
