// ebb/graph/layout/loops.cpp -- looks from each op to where it comes again; effort is bounded.
#include "ebb/graph/layout/loops.h"

namespace ebb::layout {
namespace {

constexpr int kLeastSteps = 3;   // two of a kind are not worth the loss
constexpr int kLeastApart = 8;   // steps that hand nothing on may be told apart up to here
constexpr int kMostStep = 5000;  // ops in the longest step that is looked for
constexpr int64_t kEffort = 40;  // comparisons per op, at most
constexpr int kTries = 3;        // lengths of a step that are tried from one op

class Search {
 public:
  explicit Search(const Program& program)
      : program_(program), count_(program.symbols.size), following_(count_, count_) {
    Numbers known;
    Array<int> seen;
    for (int place = count_ - 1; place >= 0; --place) {
      const int symbol = known.of(static_cast<uint32_t>(program.symbols[place]));
      if (symbol == seen.size()) seen.push(count_);
      following_[place] = seen[symbol];
      seen[symbol] = place;
    }
    effort_ = kEffort * count_;
  }

  Array<int> find() {
    Array<int> found;
    int free = 0;
    for (int begin = 0; begin < count_ && effort_ > 0;) {
      const int step = longest_step(begin);
      // What comes before the first full step lacks the inputs that steps hand on.
      int first = begin;
      while (step > 0 && first > free && symbol(first - 1) == symbol(first - 1 + step)) --first;
      const int times = step > 0 ? (end_ - first) / step : 0;
      const int wanted = !has_wires() || hands_on(begin, step) ? kLeastSteps : kLeastApart;
      if (times >= wanted && times * step >= program_.least_ops) {
        found.push(first);
        found.push(step);
        found.push(times);
        begin = free = first + times * step;
      } else {
        ++begin;
      }
    }
    return found;
  }

 private:
  int symbol(int place) const { return program_.symbols[place]; }
  bool has_wires() const { return program_.wire_start.size > 0; }

  /// The length of a step that is repeated from here on, 0 if none is; `end_` is where that ends.
  int longest_step(int begin) {
    int again = following_[begin];
    for (int turn = 0; turn < kTries && again < count_ && again - begin <= kMostStep; ++turn) {
      const int step = again - begin;
      end_ = again;
      while (end_ < count_ && is_same(end_, end_ - step)) ++end_;
      effort_ -= end_ - again + 1;
      if (end_ - begin >= 2 * step) return step;
      again = following_[again];
    }
    return 0;
  }

  /// Whether the second step from a place on uses what the first one made.
  bool hands_on(int begin, int step) const {
    for (int place = begin + step; place < begin + 2 * step; ++place) {
      for (int row = program_.wire_start[place]; row < program_.wire_start[place + 1]; ++row) {
        const int maker = program_.wire_maker[row];
        if (maker >= begin && maker < begin + step) return true;
      }
    }
    return false;
  }

  /// Equal ops whose inputs were made equally far before them, or by the same op.
  bool is_same(int one, int other) const {
    if (symbol(one) != symbol(other)) return false;
    if (!has_wires()) return true;
    const View<int>& start = program_.wire_start;
    const int inputs = start[one + 1] - start[one];
    if (inputs != start[other + 1] - start[other]) return false;
    for (int k = 0; k < inputs; ++k) {
      const int row = start[one] + k;
      const int twin = start[other] + k;
      const int maker = program_.wire_maker[row];
      const int twin_maker = program_.wire_maker[twin];
      if (program_.wire_input[row] != program_.wire_input[twin]) return false;
      if (maker != twin_maker && one - maker != other - twin_maker) return false;
    }
    return true;
  }

  const Program& program_;
  const int count_;
  Array<int> following_;  // for each op the next one that is equal
  int64_t effort_ = 0;
  int end_ = 0;
};

}  // namespace

Array<int> find_loops(const Program& program) { return Search(program).find(); }

}  // namespace ebb::layout
