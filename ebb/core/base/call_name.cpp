// ebb/core/base/call_name.cpp -- see call_name.h.
#include "ebb/core/base/call_name.h"

#include <algorithm>

namespace ebb {

thread_local constinit const char* detail::current_call = nullptr;

namespace {

/// The identifier before a text's first ":" or "():", or nothing.
std::string_view head_of(std::string_view text) {
  size_t end = 0;
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  while (end < text.size() && is_part(text[end])) ++end;
  const std::string_view rest = text.substr(end);
  return rest.starts_with(": ") || rest.starts_with("(): ") ? text.substr(0, end)
                                                            : std::string_view();
}

/// Whether `head` is how C++ spells `name`: linalg_solve for Python's linalg.solve.
bool is_spelling_of(std::string_view head, std::string_view name) {
  const auto fits = [](char own, char other) {
    return own == other || (own == '_' && other == '.');
  };
  return std::ranges::equal(head, name, fits);
}

}  // namespace

std::string detail::named_text(std::string_view name, std::string_view text, InnerName inner) {
  const std::string_view head = head_of(text);
  if (head == name) return std::string(text);
  if (head.empty()) return std::string(name).append(": ").append(text);
  const std::string_view rest = text.substr(head.size());
  if (inner == InnerName::replaced || is_spelling_of(head, name)) {
    return std::string(name).append(rest);
  }
  return std::string(name).append(": in ").append(head).append(",").append(
      rest.substr(rest.find(' ')));
}

std::string detail::text_for_caller(const std::string& text, InnerName inner) {
  return current_call == nullptr ? text : named_text(current_call, text, inner);
}

}  // namespace ebb
