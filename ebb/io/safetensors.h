// ebb/io/safetensors.h -- named tensors in a file: the safetensors format.
//
// A file is data only, so loading one from a stranger runs nothing. Saving replaces the target
// wholly or not at all. Start reading at parse_header() in safetensors_header.cpp for the rules.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// What a file holds: tensors in the order of its header, and text about them.
struct SafetensorsFile {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes `tensors` to `path` under their names, which must be unique. Views are stored as their
/// values; tensors that share memory are stored once each. Throws ValueError (names, undefined
/// tensors), DTypeError (complex128: the format has no such type) or IoError; then the old file,
/// if there was one, is as it was.
EBB_API void save_safetensors(const std::string& path, const NamedTensors& tensors,
                              const std::map<std::string, std::string>& metadata = {});

/// How load_safetensors() gets at the data.
enum class Access {
  read,  // into memory of their own
  map,   // on first use, straight from the file, which nobody may cut short meanwhile
};

/// Loads a file. The tensors are fresh leaves that require no gradient; writing to them never
/// changes the file, which may be deleted or replaced at any time. Tensors that lie unaligned in
/// the file are read also where `access` is map. Throws IoError if the file cannot be read,
/// ValueError if its content breaks a rule of the format, DTypeError for a type that ebb does not
/// have.
EBB_API SafetensorsFile load_safetensors(const std::string& path, Access access = Access::read);

/// The same from memory; `name` stands for the file in messages.
EBB_API SafetensorsFile parse_safetensors(std::span<const std::byte> content,
                                          const std::string& name = "buffer");

}  // namespace ebb::io
