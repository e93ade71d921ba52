// ebb/data/digits.cpp -- takes the tensors of the digits from their file and splits them in two.
#include "ebb/data/digits.h"

#include <algorithm>

#include "ebb/autograd/operators.h"
#include "ebb/autograd/ops/cast.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/index.h"
#include "ebb/autograd/ops/index_select.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/io/safetensors.h"

namespace ebb::data {
namespace {

constexpr int64_t kPixels = 64;
constexpr int kMaxPixel = 16, kMaxLabel = 9;
constexpr int64_t kFold = 5, kHeldOut = 4;  // of five images one is held out: this one

/// A tensor of the file, once type, sizes and range are right.
Tensor checked(const io::SafetensorsFile& file, const std::string& path, const char* name, int ndim,
               int most) {
  const auto named = [&](const auto& entry) { return entry.first == name; };
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(), named);
  const auto fail = [&](const std::string& what) {
    throw ValueError(str("load_digits: needs a file of digits, got ", in_quotes(path), ": ", what));
  };
  if (found == file.tensors.end()) fail(str("it has no ", in_quotes(name)));
  const Tensor& tensor = found->second;
  const bool is_image = ndim == 2;
  const bool fits = tensor.ndim() == ndim && (!is_image || tensor.size(1) == kPixels);
  if (tensor.dtype() != DType::uint8 || !fits) {
    fail(str(in_quotes(name), " is ", tensor.dtype(), " ", tensor.shape(), " instead of uint8 ",
             is_image ? "[n, 64]" : "[n]"));
  }
  const uint8_t* const values = tensor.data<uint8_t>();
  const int largest = tensor.numel() == 0 ? 0 : *std::max_element(values, values + tensor.numel());
  if (largest > most) fail(str(in_quotes(name), " has ", largest, ", above ", most));
  return tensor;
}

/// The images that are held out, or the others.
LabelledImages part_of(const Tensor& images, const Tensor& labels, bool is_held_out) {
  const int64_t count = labels.numel(), held_out = (count + kFold - 1 - kHeldOut) / kFold;
  const Tensor rows = empty(Shape{is_held_out ? held_out : count - held_out}, DType::int64);
  int64_t* next = rows.data<int64_t>();
  for (int64_t row = 0; row < count; ++row) {
    if ((row % kFold == kHeldOut) == is_held_out) *next++ = row;
  }
  const Tensor levels = cast(index_select(images, 0, rows), DType::float32);
  return {levels / Scalar(kMaxPixel), cast(index_select(labels, 0, rows), DType::int64)};
}

}  // namespace

DigitsSplit load_digits(const std::string& path) {
  const io::SafetensorsFile file = io::load_safetensors(path);
  const Tensor images = checked(file, path, "images", 2, kMaxPixel);
  const Tensor labels = checked(file, path, "labels", 1, kMaxLabel);
  if (images.size(0) != labels.size(0)) {
    throw ValueError(str("load_digits: needs a label for each image, got ", labels.size(0), " for ",
                         images.size(0), " in ", in_quotes(path)));
  }
  return {part_of(images, labels, false), part_of(images, labels, true)};
}

}  // namespace ebb::data
