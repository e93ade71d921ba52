// ebb/autograd/composites/linalg/einsum_equation.cpp -- see einsum_equation.h.
#include "ebb/autograd/composites/linalg/einsum_equation.h"

#include <algorithm>
#include <map>
#include <string>

#include "ebb/core/base/quotes.h"
#include "ebb/ops/infer.h"

namespace ebb::autograd::einsum {
namespace {

constexpr Label kFirstOfEllipsis = 52;
constexpr char kDots = '.';  // stands for "..." in a term

Label label_of(char letter) { return letter <= 'Z' ? letter - 'A' : letter - 'a' + 26; }

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

[[noreturn]] void throw_malformed(std::string_view text) {
  throw ValueError(
      str("einsum: equation needs letters, commas, '...' and one '->', got ", in_quotes(text)));
}

/// An equation cut into terms of letters and at most one kDots each.
struct Terms {
  std::vector<std::string> inputs{std::string()};
  std::string output;
  bool has_output = false;

  explicit Terms(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      std::string& term = has_output ? output : inputs.back();
      if (c == ' ') continue;
      if (is_letter(c)) {
        term += c;
      } else if (c == ',' && !has_output) {
        inputs.emplace_back();
      } else if (text.substr(at, 2) == "->" && !has_output) {
        has_output = true;
        ++at;
      } else if (text.substr(at, 3) == "..." && term.find(kDots) == std::string::npos) {
        term += kDots;
        at += 2;
      } else {
        throw_malformed(text);
      }
    }
  }
};

std::string shown(const std::string& term) {
  std::string text = term;
  const size_t dots = text.find(kDots);
  return dots == std::string::npos ? text : text.replace(dots, 1, "...");
}

/// The labels of a term of which "..." stands for `covered` dims.
Labels spelled_out(const std::string& term, int covered) {
  Labels labels;
  for (const char c : term) {
    if (c != kDots) labels.push_back(label_of(c));
    for (int i = covered; c == kDots && i > 0; --i) labels.push_back(kFirstOfEllipsis + i - 1);
  }
  return labels;
}

/// How many dims "..." covers in each operand.
std::vector<int> covered_dims(const Terms& terms, std::span<const Tensor> operands) {
  std::vector<int> covered;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& term = terms.inputs[i];
    const bool has_dots = term.find(kDots) != std::string::npos;
    const int letters = static_cast<int>(term.size()) - (has_dots ? 1 : 0);
    const int rest = operands[i].ndim() - letters;
    if (rest < 0 || (rest > 0 && !has_dots)) {
      throw ShapeError(str("einsum: operand ", i, " needs the ", letters, " dims of ",
                           in_quotes(shown(term)), ", got ", ops::infer::describe(operands[i])));
    }
    covered.push_back(rest);
  }
  return covered;
}

std::string name_of(Label label) {
  if (label >= kFirstOfEllipsis) return "...";
  return std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

/// One label has one size everywhere, but for sizes of 1.
void check_sizes(const std::vector<Labels>& labels, std::span<const Tensor> operands) {
  std::map<Label, int64_t> sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t dim = 0; dim < labels[i].size(); ++dim) {
      const int64_t size = operands[i].size(static_cast<int64_t>(dim));
      int64_t& known = sizes.try_emplace(labels[i][dim], size).first->second;
      if (known == 1) known = size;
      if (size == known || size == 1) continue;
      throw ShapeError(str("einsum: '", name_of(labels[i][dim]), "' needs one size, got ", known,
                           " and ", size, " (operand ", i, ")"));
    }
  }
}

/// Without "->": the dims of "...", then in order the letters that occur once.
Labels implied_output(const std::vector<Labels>& inputs, int covered) {
  std::map<Label, int> counts;
  for (const Labels& labels : inputs) {
    for (const Label label : labels) ++counts[label];
  }
  Labels output = spelled_out(std::string(1, kDots), covered);
  for (const auto& [label, count] : counts) {
    if (label < kFirstOfEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

void check_output(const std::string& term, const Labels& output,
                  const std::vector<Labels>& inputs) {
  for (size_t i = 0; i < output.size(); ++i) {
    const auto begin = output.begin();
    if (std::count(begin, begin + static_cast<int64_t>(i), output[i]) != 0) {
      throw ValueError(str("einsum: output ", in_quotes(shown(term)), " names '",
                           name_of(output[i]), "' twice"));
    }
    const bool is_known = std::any_of(inputs.begin(), inputs.end(), [&](const Labels& labels) {
      return contains(labels, output[i]);
    });
    if (is_known) continue;
    throw ValueError(str("einsum: output ", in_quotes(shown(term)), " names '", name_of(output[i]),
                         "', which no operand has"));
  }
}

}  // namespace

Equation parse(std::string_view text, std::span<const Tensor> operands) {
  const Terms terms(text);
  if (terms.inputs.size() != operands.size()) {
    throw ValueError(str("einsum: equation ", in_quotes(text), " is for ", terms.inputs.size(),
                         " operand", terms.inputs.size() == 1 ? "" : "s", ", got ",
                         operands.size()));
  }
  const std::vector<int> covered = covered_dims(terms, operands);
  const int most_covered = *std::max_element(covered.begin(), covered.end());
  Equation equation;
  for (size_t i = 0; i < operands.size(); ++i) {
    equation.operands.push_back(spelled_out(terms.inputs[i], covered[i]));
  }
  check_sizes(equation.operands, operands);
  equation.output = terms.has_output ? spelled_out(terms.output, most_covered)
                                     : implied_output(equation.operands, most_covered);
  check_output(terms.output, equation.output, equation.operands);
  return equation;
}

}  // namespace ebb::autograd::einsum
