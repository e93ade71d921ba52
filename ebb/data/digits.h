// ebb/data/digits.h -- loads the handwritten digits of data/digits/digits.bin.
//
// The format is described in data/digits/README.md. Everything is checked: magic, version, sizes,
// checksum, and that each pixel and label is in range.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ebb/core/tensor.h"

namespace ebb::data {

/// Images with their labels, row i of one belonging to element i of the other.
struct LabelledImages {
  Tensor images;  // float32 [n, 64], grey levels scaled to 0..1
  Tensor labels;  // int64 [n], 0..9
};

struct DigitsSplit {
  LabelledImages train;
  LabelledImages test;  // every fifth image: those whose number is 4 modulo 5
};

/// Throws IoError if the file cannot be read, ValueError if it is corrupt.
EBB_API DigitsSplit load_digits(const std::string& path);

/// The same from memory; `name` stands for the file in messages.
EBB_API DigitsSplit parse_digits(std::span<const unsigned char> content,
                                 const std::string& name = "buffer");

}  // namespace ebb::data
