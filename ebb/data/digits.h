// ebb/data/digits.h -- loads the handwritten digits of data/digits/digits.safetensors.
//
// The file's tensors are described in data/digits/README.md.
#pragma once

#include <string>

#include "ebb/core/tensor/tensor.h"

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

/// Throws IoError if the file cannot be read, ValueError if it is corrupt or holds anything else.
EBB_API DigitsSplit load_digits(const std::string& path);

}  // namespace ebb::data
