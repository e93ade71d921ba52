// ebb/core/base/quotes.cpp -- which characters stand for themselves, and how the rest is written.
//
// Text is read a code point at a time. Start reading at in_quotes().
#include "ebb/core/base/quotes.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace ebb {
namespace {

struct Range {
  uint32_t first, last;
};

// Unicode's categories Cc, Cf, Co, Zl, Zp and Zs without ' ', ascending.
constexpr Range kUnseen[] = {
    {0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x2064},   {0x2066, 0x206f},   {0x3000, 0x3000},
    {0xe000, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0xffffd}, {0x100000, 0x10fffd},
};

bool is_seen(uint32_t point) {
  const auto range = std::lower_bound(std::begin(kUnseen), std::end(kUnseen), point,
                                      [](Range one, uint32_t value) { return one.last < value; });
  return range == std::end(kUnseen) || point < range->first;
}

struct Letter {
  uint32_t point;
  size_t bytes;
  bool is_utf8;
};

/// The letter at the start of `text`: a byte alone where that is not UTF-8.
Letter first_of(std::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // of so many bytes
  const auto lead = static_cast<uint8_t>(text[0]);
  const Letter wrong = {lead, 1, false};
  if (lead < 0x80) return {lead, 1, true};
  const size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead < 0xc0 || lead > 0xf4 || bytes > text.size()) return wrong;
  uint32_t point = lead & (0x7fu >> bytes);
  for (size_t index = 1; index < bytes; ++index) {
    const auto next = static_cast<uint8_t>(text[index]);
    if ((next & 0xc0) != 0x80) return wrong;
    point = point << 6 | (next & 0x3fu);
  }
  const bool is_surrogate = point >= 0xd800 && point < 0xe000;
  if (point < kLeast[bytes] || point > 0x10ffff || is_surrogate) return wrong;
  return {point, bytes, true};
}

std::string escaped(uint32_t point) {
  switch (point) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  char text[16];
  const char* const format = point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x";
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, format, point))};
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const auto has = [&](char letter) { return text.find(letter) != std::string_view::npos; };
  const char quote = has('\'') && !has('"') ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const Letter letter = first_of(text);
    if (!letter.is_utf8 || !is_seen(letter.point)) {
      out += escaped(letter.point);
    } else {
      if (text[0] == quote || text[0] == '\\') out += '\\';
      out += text.substr(0, letter.bytes);
    }
    text.remove_prefix(letter.bytes);
  }
  return out += quote;
}

}  // namespace ebb
