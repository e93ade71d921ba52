// ebb/autograd/checkpoint/op_log.cpp -- noting ops, and printing them.
#include "ebb/autograd/checkpoint/op_log.h"

#include <algorithm>

#include "ebb/core/base/error.h"

namespace ebb::autograd {

void OpLog::see(const OpCall& call, std::span<const Tensor> results) {
  std::string text = call.name;
  const char* mark = " -> ";
  for (const Tensor& result : results) {
    if (!result.defined()) continue;
    text += str(mark, result.dtype(), ' ', PrintShape{result.sizes()});
    mark = ", ";
  }
  lines_.push_back({std::move(text), call.location});
}

std::string OpLog::text_at(size_t index) const {
  if (index >= lines_.size()) return "-";
  const Line& line = lines_[index];
  return str(line.call, " at ", line_of(line.location));
}

std::string OpLog::side_by_side(const OpLog& first, const OpLog& again) {
  const size_t count = std::max(first.lines_.size(), again.lines_.size());
  const std::string title = "forward pass";
  size_t width = title.size();
  for (size_t index = 0; index < count; ++index) {
    width = std::max(width, first.text_at(index).size());
  }
  const auto row = [&](char mark, std::string left, const std::string& right) {
    left.resize(width, ' ');
    return str("\n ", mark, ' ', left, " | ", right);
  };
  std::string text =
      str("\nops of both, with ! where they differ:", row(' ', title, "recomputation"));
  for (size_t index = 0; index < count; ++index) {
    const std::string left = first.text_at(index), right = again.text_at(index);
    // A recomputation that has stopped early differs in nothing.
    text += row(left == right || index >= again.lines_.size() ? ' ' : '!', left, right);
  }
  return text;
}

}  // namespace ebb::autograd
