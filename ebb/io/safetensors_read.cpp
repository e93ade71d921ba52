// ebb/io/safetensors_read.cpp -- loads safetensors files: checks the header, then reads each
// tensor.
//
// Bytes come through a Source (a file or a buffer), which refuses to give more than there are; so a
// file that shrinks while it is read ends in an error. Files are mapped only on demand: a mapped
// file cut short by someone else would kill the process.
#include <bit>
#include <cstring>
#include <memory>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"
#include "ebb/io/read_file.h"
#include "ebb/io/safetensors.h"
#include "ebb/io/safetensors_header.h"

namespace ebb::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format stores little-endian");

/// A file, with the interface that read_from() needs.
class FileSource {
 public:
  explicit FileSource(const ReadFile& file) : file_(file) {}
  uint64_t bytes() const { return file_.bytes(); }
  void read(uint64_t offset, void* where, uint64_t count) const {
    if (const uint64_t got = file_.read(offset, where, count); got < count) {
      throw_corrupt(file_.path(), str("it ends at byte ", offset + got, " while it is read"));
    }
  }
  Tensor tensor(uint64_t offset, const HeaderEntry& entry) const {
    Tensor tensor = empty(entry.shape, entry.dtype);
    read(offset, tensor.data_ptr(), tensor.nbytes());
    return tensor;
  }

 private:
  const ReadFile& file_;
};

/// A mapped file: tensors are views of it.
class MapSource {
 public:
  explicit MapSource(const ReadFile& file) : file_(file), map_(MappedFile::make(file)) {}
  uint64_t bytes() const { return file_.bytes(); }
  void read(uint64_t offset, void* where, uint64_t count) const {
    FileSource(file_).read(offset, where, count);
  }
  Tensor tensor(uint64_t offset, const HeaderEntry& entry) const {
    const size_t alignment = item_size(entry.dtype) / (is_complex(entry.dtype) ? 2 : 1);
    if (entry.begin == entry.end || offset % alignment != 0) {
      return FileSource(file_).tensor(offset, entry);
    }
    return map_->view(offset, entry.shape, entry.dtype);
  }

 private:
  const ReadFile& file_;
  std::shared_ptr<MappedFile> map_;
};

/// A buffer, with the same interface.
class ReadBuffer {
 public:
  explicit ReadBuffer(std::span<const std::byte> content) : content_(content) {}
  uint64_t bytes() const { return content_.size(); }
  void read(uint64_t offset, void* where, uint64_t count) const {
    if (count > 0) std::memcpy(where, content_.data() + offset, count);
  }
  Tensor tensor(uint64_t offset, const HeaderEntry& entry) const {
    Tensor tensor = empty(entry.shape, entry.dtype);
    read(offset, tensor.data_ptr(), tensor.nbytes());
    return tensor;
  }

 private:
  std::span<const std::byte> content_;
};

/// Any other byte than 0 and 1 in a bool is undefined behaviour in C++: it counts as true.
void normalize_bools(const Tensor& tensor) {
  auto* const bytes = static_cast<unsigned char*>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (bytes[i] > 1) bytes[i] = 1;  // a mapped page that needs no change stays the file's
  }
}

template <typename Source>
SafetensorsFile read_from(const Source& source, const std::string& file) {
  if (source.bytes() < 8) {
    throw_corrupt(file, str("it has ", source.bytes(), " bytes, fewer than the first field"));
  }
  unsigned char first8[8];
  source.read(0, first8, 8);
  const uint64_t length = checked_header_length(file, first8, source.bytes());
  std::string json(length, ' ');
  source.read(8, json.data(), length);
  const uint64_t data_start = 8 + length;
  Header header = parse_header(file, json, source.bytes() - data_start);

  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  result.tensors.reserve(header.entries.size());
  for (HeaderEntry& entry : header.entries) {
    const Tensor tensor = source.tensor(data_start + entry.begin, entry);
    if (entry.dtype == DType::boolean) normalize_bools(tensor);
    result.tensors.emplace_back(std::move(entry.name), tensor);
  }
  return result;
}

}  // namespace

SafetensorsFile load_safetensors(const std::string& path, Access access) {
  const ReadFile file("load", path);
  return access == Access::map ? read_from(MapSource(file), path)
                               : read_from(FileSource(file), path);
}

SafetensorsFile parse_safetensors(std::span<const std::byte> content, const std::string& name) {
  return read_from(ReadBuffer(content), name);
}

}  // namespace ebb::io
