// ebb/graph/cut_search.h -- private: from outputs back through what is recorded and noted.
//
// Starts at the outputs, follows edges of nodes and sources of notes, each once, nearest first, and
// remembers by which each was reached. Holds the lock of the notes while it lives: nothing may be
// computed meanwhile.
#pragma once

#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "ebb/autograd/watch/cut_notes.h"
#include "ebb/graph/step.h"
#include "ebb/graph/tables.h"

namespace ebb::graph {

/// The same op at the same place once, with how often.
void add_once(std::vector<Step>& steps, Step step);

class CutSearch {
 public:
  explicit CutSearch(std::span<const Tensor> outputs);

  /// What an input is among the notes; 0 if none has heard of it.
  bool find(const Tensor& input, autograd::NoteSource& source) const;
  /// The steps from the input to the outputs; empty if no way is known.
  std::vector<Step> trail_from(autograd::NoteSource input) const;
  /// The first step of that trail which is not recorded. False if there is no trail.
  bool first_cut(autograd::NoteSource input, Step& cut) const;
  /// The ops that cut values of the input off and lead to the outputs.
  std::vector<Step> cuts_of(autograd::NoteSource input) const;
  /// Where values of the input became numbers, whether that leads to the outputs or not.
  std::vector<Step> left_from(autograd::NoteSource input) const;
  /// Tensors made from numbers that lead to the outputs.
  std::vector<Step> entered() const;

 private:
  struct Item {
    autograd::Node* node;  // null for a note
    autograd::NoteId note;
    uint32_t before;
  };
  void reach(autograd::Node* node, uint32_t before);
  void reach(autograd::NoteId note, uint32_t before);
  void reach_joined(uint64_t key, uint32_t before);
  void expand(uint32_t index);
  uint32_t last_item(autograd::NoteSource input) const;
  Step step_of(const Item& item) const;
  Step step_of(autograd::NoteId note) const;
  /// Which notes, from the first on, hold values of the input.
  std::vector<uint8_t> holding(autograd::NoteSource input) const;

  const autograd::CutNotes& notes_;
  std::unique_lock<std::mutex> lock_;
  std::vector<Item> items_;
  PointerMap nodes_;
  std::vector<uint32_t> item_of_note_;  // by note, from the first on; kNone: not reached
  std::unordered_map<autograd::NoteSource, uint32_t> leaves_;  // the item that reached it
};

}  // namespace ebb::graph
