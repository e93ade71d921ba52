// ebb/data/digits.cpp -- checks digits.bin, unpacks its pixels and splits it in two.
#include "ebb/data/digits.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "ebb/core/error.h"

namespace ebb::data {
namespace {

using Bytes = std::span<const unsigned char>;

constexpr char kMagic[] = "EBBDIGIT";
constexpr size_t kHeaderBytes = 24;
constexpr size_t kChecksumBytes = 4;
constexpr uint32_t kSide = 8;
constexpr size_t kPixels = kSide * kSide;
constexpr int kPixelBits = 5;
constexpr size_t kRowBytes = 5;  // eight pixels of five bits
constexpr size_t kImageBytes = kSide * kRowBytes;
constexpr unsigned kMaxPixel = 16;
constexpr unsigned kMaxLabel = 9;
constexpr uint32_t kMaxImages = 1u << 24;  // far above any real file; keeps sizes from overflowing
constexpr size_t kFold = 5;                // one image in five is held out ...
constexpr size_t kHeldOut = 4;             // ... this one

[[noreturn]] void throw_corrupt(const std::string& file, const std::string& what) {
  throw ValueError("load_digits: needs a digits file, got '" + file + "': " + what);
}

uint32_t read_u32(Bytes content, size_t at) {
  return content[at] | content[at + 1] << 8 | content[at + 2] << 16 |
         static_cast<uint32_t>(content[at + 3]) << 24;
}

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0u);
    table[byte] = value;
  }
  return table;
}

/// The CRC-32 of zlib and PNG.
uint32_t crc32(Bytes content) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t value = 0xFFFFFFFFu;
  for (const unsigned char byte : content) value = value >> 8 ^ kTable[(value ^ byte) & 0xFF];
  return ~value;
}

/// Number of images, once header, length and checksum are right.
size_t checked_count(Bytes content, const std::string& file) {
  if (content.size() < kHeaderBytes + kChecksumBytes) {
    throw_corrupt(file, str("it has only ", content.size(), " bytes"));
  }
  if (std::memcmp(content.data(), kMagic, 8) != 0) throw_corrupt(file, "it has another magic");
  const uint32_t version = read_u32(content, 8);
  if (version != 1) throw_corrupt(file, str("format version ", version, " is unknown"));
  const uint32_t count = read_u32(content, 12);
  const uint32_t height = read_u32(content, 16);
  const uint32_t width = read_u32(content, 20);
  if (height != kSide || width != kSide) {
    throw_corrupt(file, str("images are ", height, "x", width, " instead of 8x8"));
  }
  if (count > kMaxImages) throw_corrupt(file, str(count, " images are too many"));
  const size_t expected = kHeaderBytes + count * (1 + kImageBytes) + kChecksumBytes;
  if (content.size() != expected) {
    throw_corrupt(file, str(count, " images take ", expected, " bytes, it has ", content.size()));
  }
  const size_t checked = content.size() - kChecksumBytes;
  if (crc32(content.first(checked)) != read_u32(content, checked)) {
    throw_corrupt(file, "its checksum is wrong");
  }
  return count;
}

/// Writes 64 grey levels, 0..1, from 40 bytes. False if one is out of range.
bool unpack_image(const unsigned char* packed, float* pixels) {
  bool in_range = true;
  for (uint32_t row = 0; row < kSide; ++row, packed += kRowBytes) {
    uint64_t word = 0;
    for (size_t byte = 0; byte < kRowBytes; ++byte) word |= uint64_t{packed[byte]} << (8 * byte);
    for (uint32_t column = 0; column < kSide; ++column) {
      const auto level = static_cast<unsigned>(word >> (kPixelBits * column) & 31);
      in_range = in_range && level <= kMaxPixel;
      *pixels++ = static_cast<float>(level) / kMaxPixel;
    }
  }
  return in_range;
}

/// Fills one part with the images that `wanted(number)` chooses.
template <typename Wanted>
LabelledImages unpack(Bytes content, const std::string& file, size_t count, Wanted wanted) {
  int64_t chosen = 0;
  for (size_t i = 0; i < count; ++i) chosen += wanted(i) ? 1 : 0;
  LabelledImages part{empty(Shape{chosen, int64_t{kPixels}}, DType::float32),
                      empty(Shape{chosen}, DType::int64)};
  auto* pixels = part.images.data<float>();
  auto* label = part.labels.data<int64_t>();
  const unsigned char* const labels = content.data() + kHeaderBytes;
  const unsigned char* const images = labels + count;
  for (size_t i = 0; i < count; ++i) {
    if (!wanted(i)) continue;
    if (labels[i] > kMaxLabel) throw_corrupt(file, str("image ", i, " has label ", +labels[i]));
    if (!unpack_image(images + i * kImageBytes, pixels)) {
      throw_corrupt(file, str("image ", i, " has a pixel above ", kMaxPixel));
    }
    *label++ = labels[i];
    pixels += kPixels;
  }
  return part;
}

}  // namespace

DigitsSplit parse_digits(Bytes content, const std::string& name) {
  const size_t count = checked_count(content, name);
  return {unpack(content, name, count, [](size_t i) { return i % kFold != kHeldOut; }),
          unpack(content, name, count, [](size_t i) { return i % kFold == kHeldOut; })};
}

DigitsSplit load_digits(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  constexpr std::streamoff kMostBytes = std::streamoff{kMaxImages} * 64;
  if (bytes < 0 || bytes > kMostBytes) {
    throw IoError("load_digits: needs a readable file, got '" + path +
                  "'\nhint: the digits lie in data/digits/digits.bin of the repository");
  }
  std::vector<unsigned char> content(static_cast<size_t>(bytes));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(content.data()), bytes);
  if (!file) throw IoError("load_digits: needs a readable file, got '" + path + "'");
  return parse_digits(content, path);
}

}  // namespace ebb::data
