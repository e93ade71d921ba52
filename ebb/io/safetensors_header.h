// ebb/io/safetensors_header.h -- the header of a safetensors file, checked (private to ebb/io).
//
// After parse_header() has returned, every entry's byte count equals its shape times its dtype, and
// the entries cover the data exactly: reading them needs no further check.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ebb/core/base/dtype.h"
#include "ebb/core/base/shape.h"

namespace ebb::io {

/// The reference implementation's limit; keeps a hostile length from asking for memory.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// One tensor of a header.
struct HeaderEntry {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  uint64_t begin = 0;  // of its bytes, counted from the end of the header
  uint64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;  // in the order of the file
  std::map<std::string, std::string> metadata;
};

/// The format's name of a dtype, such as "F32"; empty if it has none.
std::string_view safetensors_name_of(DType dtype);

/// Length of the header, from its first 8 bytes. Throws ValueError if a file of `file_bytes` cannot
/// have it.
uint64_t checked_header_length(const std::string& file, const unsigned char* first8,
                               uint64_t file_bytes);

/// Parses and checks a header whose data are `data_bytes` long. Throws ValueError or DTypeError.
Header parse_header(const std::string& file, std::string_view json, uint64_t data_bytes);

/// Throws ValueError, naming `op` and what is wrong with `file`.
[[noreturn]] void throw_corrupt(const std::string& file, const std::string& what);

}  // namespace ebb::io
