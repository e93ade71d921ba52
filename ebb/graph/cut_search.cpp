// ebb/graph/cut_search.cpp -- a queue over nodes and notes.
#include "ebb/graph/cut_search.h"

#include <algorithm>

#include "ebb/autograd/history/node_extra.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/core/base/scope.h"
#include "ebb/graph/snapshot.h"

namespace ebb::graph {

using autograd::CutNote;
using autograd::CutNotes;
using autograd::kLeafSource;
using autograd::kNoNote;
using autograd::Node;
using autograd::NoteId;
using autograd::NoteKind;
using autograd::NoteSource;

namespace {

/// "blocks.3.attn", or the class of the outermost module.
std::string module_text(OpContext context) {
  std::string path, type;
  for (ScopeId scope = scope_of(context); scope != 0;) {
    const ScopeInfo step = describe_scope(scope);
    if (!step.name.empty()) path = path.empty() ? step.name : step.name + '.' + path;
    if (type.empty()) type = step.type;
    scope = step.parent;
  }
  return path.empty() ? type : path;
}

}  // namespace

void add_once(std::vector<Step>& steps, Step step) {
  const auto known = std::find_if(steps.begin(), steps.end(), [&](const Step& one) {
    return one.op == step.op && one.place == step.place && one.module == step.module;
  });
  if (known == steps.end()) {
    steps.push_back(std::move(step));
  } else {
    ++known->times;
  }
}

CutSearch::CutSearch(std::span<const Tensor> outputs)
    : notes_(CutNotes::shared()),
      lock_(CutNotes::shared().mutex()),
      item_of_note_(notes_.end() - notes_.first(), kNone) {
  for (const Tensor& output : outputs) {
    if (output.requires_grad()) {
      reach(autograd::gradient_edge(output).node, kNone);
    } else {
      reach(notes_.note_of_origin(autograd::origin_of(output)), kNone);
    }
  }
  for (uint32_t index = 0; index < items_.size(); ++index) expand(index);
}

void CutSearch::reach(Node* node, uint32_t before) {
  if (node == nullptr) return;
  const size_t known = nodes_.size();
  nodes_.at(node, 0);
  if (nodes_.size() > known) items_.push_back({node, kNoNote, before});
}

void CutSearch::reach(NoteId note, uint32_t before) {
  if (note == kNoNote || note < notes_.first()) return;
  uint32_t& item = item_of_note_[note - notes_.first()];
  if (item != kNone) return;
  item = static_cast<uint32_t>(items_.size());
  items_.push_back({nullptr, note, before});
}

void CutSearch::reach_joined(uint64_t key, uint32_t before) {
  if (!notes_.has_joins()) return;
  notes_.for_joined(key, [&](NoteId note) { reach(note, before); });
}

void CutSearch::expand(uint32_t index) {
  const Item item = items_[index];
  if (item.node == nullptr) {
    for (const NoteSource source : notes_.sources_of(item.note)) {
      if ((source & kLeafSource) == 0) {
        reach(notes_.note_of(source), index);
      } else if (leaves_.emplace(source, index).second) {
        reach_joined(CutNotes::join_of_leaf(source), index);
      }
    }
    return;
  }
  if (item.node->is_accumulator()) {
    const NoteSource leaf = notes_.source_of_leaf(*item.node);
    if (leaf != 0) reach_joined(CutNotes::join_of_leaf(leaf), index);
    return;
  }
  for (const autograd::Edge& edge : item.node->edges()) reach(edge.node, index);
  reach_joined(item.node->sequence(), index);
}

bool CutSearch::find(const Tensor& input, NoteSource& source) const {
  const autograd::Edge edge = autograd::gradient_edge(input);
  if (edge.node == nullptr) return false;
  if (edge.node->is_accumulator()) {
    source = notes_.source_of_leaf(*edge.node);
    return source != 0;
  }
  const NoteId note = notes_.note_of_node(edge.node->sequence());
  source = static_cast<NoteSource>(note & autograd::kNoteMask);
  return note != kNoNote;
}

/// Of a leaf the item that reached it, of another tensor its own.
uint32_t CutSearch::last_item(NoteSource input) const {
  if ((input & kLeafSource) == 0) {
    const NoteId note = notes_.note_of(input);
    return note == kNoNote ? kNone : item_of_note_[note - notes_.first()];
  }
  const auto found = leaves_.find(input);
  return found == leaves_.end() ? kNone : found->second;
}

std::vector<Step> CutSearch::trail_from(NoteSource input) const {
  std::vector<Step> steps;
  for (uint32_t at = last_item(input); at != kNone; at = items_[at].before) {
    steps.push_back(step_of(items_[at]));
  }
  return steps;
}

bool CutSearch::first_cut(NoteSource input, Step& cut) const {
  for (uint32_t at = last_item(input); at != kNone; at = items_[at].before) {
    if (items_[at].node != nullptr) return false;
    if (notes_.at(items_[at].note).kind != NoteKind::unrecorded) continue;
    cut = step_of(items_[at]);
    return true;
  }
  return false;
}

Step CutSearch::step_of(const Item& item) const {
  if (item.node == nullptr) return step_of(item.note);
  const Node& node = *item.node;
  const bool has_output = node.output_count() > 0 && !node.is_accumulator();
  const auto* const extra = const_cast<Node&>(node).extra();
  return {.op = node.name(),
          .module = has_output ? module_text(node.output_meta(0).context) : "",
          .place = node.location(),
          .is_freed = node.is_released(),
          .hooks = extra == nullptr ? 0 : static_cast<uint32_t>(extra->hooks->snapshot()->size())};
}

Step CutSearch::step_of(NoteId id) const {
  const CutNote& note = notes_.at(id);
  return {.op = note.name,
          .module = module_text(note.context),
          .place = note.place,
          .kind = static_cast<StepKind>(note.kind),
          .cut = note.cut};
}

std::vector<uint8_t> CutSearch::holding(NoteSource input) const {
  std::vector<uint8_t> holds(item_of_note_.size(), 0);
  const NoteId own = (input & kLeafSource) == 0 ? notes_.note_of(input) : kNoNote;
  for (NoteId id = notes_.first(); id < notes_.end(); ++id) {
    const std::span<const NoteSource> sources = notes_.sources_of(id);
    const bool holds_any = std::any_of(sources.begin(), sources.end(), [&](NoteSource source) {
      if ((source & kLeafSource) != 0) return source == input;
      const NoteId note = notes_.note_of(source);
      return note != kNoNote && note < id && holds[note - notes_.first()] != 0;
    });
    holds[id - notes_.first()] = static_cast<uint8_t>(holds_any || id == own);
  }
  return holds;
}

std::vector<Step> CutSearch::cuts_of(NoteSource input) const {
  const std::vector<uint8_t> holds = holding(input);
  std::vector<Step> cuts;
  for (NoteId id = notes_.first(); id < notes_.end(); ++id) {
    const size_t place = id - notes_.first();
    if (holds[place] == 0 || item_of_note_[place] == kNone) continue;
    if (notes_.at(id).kind != NoteKind::unrecorded) continue;
    const std::span<const NoteSource> sources = notes_.sources_of(id);
    const bool cuts_here = std::any_of(sources.begin(), sources.end(), [&](NoteSource source) {
      if ((source & kLeafSource) != 0) return source == input;
      const NoteId note = notes_.note_of(source);
      return note != kNoNote && holds[note - notes_.first()] != 0 &&
             notes_.at(note).kind == NoteKind::recorded;
    });
    if (cuts_here) add_once(cuts, step_of(id));
  }
  return cuts;
}

std::vector<Step> CutSearch::left_from(NoteSource input) const {
  const std::vector<uint8_t> holds = holding(input);
  std::vector<Step> left;
  for (NoteId id = notes_.first(); id < notes_.end(); ++id) {
    if (holds[id - notes_.first()] == 0 || notes_.at(id).kind != NoteKind::left) continue;
    add_once(left, step_of(id));
  }
  return left;
}

std::vector<Step> CutSearch::entered() const {
  std::vector<Step> found;
  for (NoteId id = notes_.first(); id < notes_.end(); ++id) {
    const bool is_reached = item_of_note_[id - notes_.first()] != kNone;
    if (is_reached && notes_.at(id).kind == NoteKind::entered) add_once(found, step_of(id));
  }
  return found;
}

}  // namespace ebb::graph
