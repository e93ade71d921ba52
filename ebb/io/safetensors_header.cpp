// ebb/io/safetensors_header.cpp -- checks a safetensors header, as strictly as the format allows.
//
// The JSON goes through a streaming parser whose events drive a small state machine, so nothing is
// built that the format does not know: wrong nesting, duplicate keys, negative, fractional and huge
// numbers stop it where they stand. Then check_entries() compares sizes with the file.
#include "ebb/io/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"

namespace ebb::io {
namespace {

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr TypeName kTypeNames[] = {
    {"BOOL", DType::boolean}, {"U8", DType::uint8},      {"U16", DType::uint16},
    {"U32", DType::uint32},   {"U64", DType::uint64},    {"I8", DType::int8},
    {"I16", DType::int16},    {"I32", DType::int32},     {"I64", DType::int64},
    {"F16", DType::float16},  {"BF16", DType::bfloat16}, {"F32", DType::float32},
    {"F64", DType::float64},  {"C64", DType::complex64},
};

/// Receives the parser's events. A `return false` stops the parser; `problem` says why.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Header header;
  std::string problem;
  std::string unknown_dtype;

  bool null() override { return wrong_value("null"); }
  bool boolean(bool) override { return wrong_value("a boolean"); }
  bool number_integer(number_integer_t) override { return wrong_value("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override {
    return wrong_value("the number " + text.substr(0, 40));
  }
  bool binary(binary_t&) override { return wrong_value("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape) return add_size(value);
    if (place_ != Place::offsets) return wrong_value("a number");
    if (offsets_ == 2) return fail("data_offsets has more than two numbers");
    (offsets_++ == 0 ? header.entries.back().begin : header.entries.back().end) = value;
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      header.metadata[key_] = text;
      return true;
    }
    if (place_ != Place::entry || key_ != "dtype") return wrong_value("a string");
    const auto* found = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                     [&](const TypeName& type) { return type.name == text; });
    if (found == std::end(kTypeNames)) {
      unknown_dtype = text.substr(0, 40);
      return fail("dtype");
    }
    header.entries.back().dtype = found->dtype;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == "__metadata__") {
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      header.entries.push_back({.name = key_, .shape = {}});
      offsets_ = 0;
      place_ = Place::entry;
    } else {
      return wrong_value("an object");
    }
    keys_[place_ == Place::top ? 0 : 1].clear();
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry && keys_[1].size() != 3) {
      return fail("it needs dtype, shape and data_offsets");
    }
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry || key_ == "dtype") return wrong_value("a list");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ != 2) return fail("data_offsets needs two numbers");
    place_ = Place::entry;
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    if (place_ == Place::entry && text != "dtype" && text != "shape" && text != "data_offsets") {
      return fail("unknown key " + in_quotes(text.substr(0, 40)));
    }
    if (text.find('\0') != std::string::npos) return fail("a name holds a NUL byte");
    const bool is_new = keys_[place_ == Place::top ? 0 : 1].insert(text).second;
    return is_new || fail("key " + in_quotes(text.substr(0, 40)) + " occurs twice");
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    problem = str("it is not valid JSON in UTF-8, see byte ", position);
    return false;
  }

 private:
  enum class Place { outside, top, metadata, entry, shape, offsets };

  bool add_size(number_unsigned_t value) {
    Shape& shape = header.entries.back().shape;
    if (shape.ndim() == kMaxDims) return fail(str("shape has more than ", kMaxDims, " sizes"));
    if (value > static_cast<uint64_t>(INT64_MAX)) return fail(str("size ", value, " is too large"));
    shape.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool fail(const std::string& what) {
    const bool in_entry = place_ >= Place::entry && !header.entries.empty();
    problem = in_entry
                  ? "tensor " + in_quotes(header.entries.back().name.substr(0, 80)) + ": " + what
                  : what;
    return false;
  }
  bool wrong_value(const std::string& what) {
    return fail((place_ == Place::metadata ? "__metadata__ needs strings, got "
                                           : "no rule of the format allows ") +
                what + (place_ == Place::outside ? "" : " for " + in_quotes(key_.substr(0, 40))));
  }

  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> keys_[2];  // met so far: at the top, and in the object below it
  int offsets_ = 0;
};

/// Bytes of `entry` by shape and dtype. Throws ValueError if they overflow.
uint64_t entry_bytes(const std::string& file, const HeaderEntry& entry) {
  try {
    return static_cast<uint64_t>(checked_numel("load", entry.shape, item_size(entry.dtype))) *
           item_size(entry.dtype);
  } catch (const ShapeError&) {
    throw_corrupt(file,
                  str("tensor ", in_quotes(entry.name), ": shape ", entry.shape, " overflows"));
  }
}

/// Every entry spans what its shape needs, and together they cover the data once.
void check_entries(const std::string& file, const Header& header, uint64_t data_bytes) {
  const std::vector<HeaderEntry>& entries = header.entries;
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) {
    return std::pair(entries[lhs].begin, entries[lhs].end) <
           std::pair(entries[rhs].begin, entries[rhs].end);
  });
  uint64_t covered = 0;
  for (const size_t index : order) {
    const HeaderEntry& entry = entries[index];
    const std::string who = "tensor " + in_quotes(entry.name.substr(0, 80)) + ": ";
    if (entry.begin > entry.end || entry.end > data_bytes) {
      throw_corrupt(file, str(who, "bytes ", entry.begin, " to ", entry.end, " are not among the ",
                              data_bytes, " bytes of data"));
    }
    if (entry.begin != covered) {
      throw_corrupt(file, str(who, "starts at byte ", entry.begin,
                              ", but the one before it ends at ", covered));
    }
    const uint64_t needed = entry_bytes(file, entry);
    if (entry.end - entry.begin != needed) {
      throw_corrupt(file, str(who, "shape ", entry.shape, " of ", entry.dtype, " takes ", needed,
                              " bytes, but its offsets span ", entry.end - entry.begin));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    throw_corrupt(file, str("its tensors cover ", covered, " of ", data_bytes, " bytes of data"));
  }
}

}  // namespace

void throw_corrupt(const std::string& file, const std::string& what) {
  throw ValueError("load: needs a safetensors file, got " + in_quotes(file) + ": " + what);
}

std::string_view safetensors_name_of(DType dtype) {
  for (const TypeName& type : kTypeNames) {
    if (type.dtype == dtype) return type.name;
  }
  return {};
}

uint64_t checked_header_length(const std::string& file, const unsigned char* first8,
                               uint64_t file_bytes) {
  uint64_t length = 0;
  for (int byte = 7; byte >= 0; --byte) length = length << 8 | first8[byte];
  if (length > kMaxHeaderBytes) {
    throw_corrupt(file,
                  str("a header of ", length, " bytes is above the limit of ", kMaxHeaderBytes));
  }
  if (length > file_bytes - 8) {
    throw_corrupt(file, str("a header of ", length, " bytes does not fit into ", file_bytes));
  }
  return length;
}

Header parse_header(const std::string& file, std::string_view json, uint64_t data_bytes) {
  if (json.empty() || json.front() != '{') throw_corrupt(file, "its header has no leading '{'");
  // The parser takes a NUL for the end of its input, and what follows would go unseen.
  if (json.find('\0') != std::string_view::npos) throw_corrupt(file, "its header holds a NUL byte");
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) {
    if (!reader.unknown_dtype.empty()) {
      throw DTypeError("load: needs a dtype that ebb has, got " + in_quotes(reader.unknown_dtype) +
                       " for tensor " + in_quotes(reader.header.entries.back().name) + " of " +
                       in_quotes(file));
    }
    throw_corrupt(file, reader.problem);
  }
  check_entries(file, reader.header, data_bytes);
  return std::move(reader.header);
}

}  // namespace ebb::io
