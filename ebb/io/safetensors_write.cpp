// ebb/io/safetensors_write.cpp -- saves named tensors: lays out the header, then writes the data.
//
// Data are laid out by falling element size, so that every tensor is aligned to its elements; the
// header keeps the caller's order, and spaces at its end align the data to 8 bytes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/ops/contiguous.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/sparse.h"
#include "ebb/io/atomic_file.h"
#include "ebb/io/safetensors.h"
#include "ebb/io/safetensors_header.h"

namespace ebb::io {
namespace {

void check_name(const std::string& name, std::set<std::string>& seen) {
  if (name == "__metadata__") {
    throw ValueError("save: needs a name other than the reserved '__metadata__'");
  }
  if (name.find('\0') != std::string::npos) {
    throw ValueError("save: needs names without NUL bytes, got " + in_quotes(name));
  }
  if (!seen.insert(name).second) {
    throw ValueError("save: needs each name once, got " + in_quotes(name) + " twice");
  }
}

void check_tensors(const NamedTensors& tensors) {
  std::set<std::string> seen;
  for (const auto& [name, tensor] : tensors) {
    check_name(name, seen);
    if (!tensor.defined())
      throw ValueError("save: needs tensors, got nothing for " + in_quotes(name));
    require_strided("save", name.c_str(), tensor);
    if (safetensors_name_of(tensor.dtype()).empty()) {
      throw DTypeError(str("save: needs a dtype that safetensors files know, got ", tensor.dtype(),
                           " for ", in_quotes(name)));
    }
  }
}

/// Positions in the order in which the data are written.
std::vector<size_t> data_order(const NamedTensors& tensors) {
  std::vector<size_t> order(tensors.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t lhs, size_t rhs) {
    return item_size(tensors[lhs].second.dtype()) > item_size(tensors[rhs].second.dtype());
  });
  return order;
}

std::string header_text(const NamedTensors& tensors, const std::vector<size_t>& order,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<size_t> begins(tensors.size());
  size_t offset = 0;
  for (const size_t index : order) {
    begins[index] = offset;
    offset += tensors[index].second.nbytes();
  }
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    const IntSpan sizes = tensor.sizes();
    header[name] = {{"dtype", safetensors_name_of(tensor.dtype())},
                    {"shape", std::vector<int64_t>(sizes.begin(), sizes.end())},
                    {"data_offsets", {begins[i], begins[i] + tensor.nbytes()}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw ValueError("save: needs names and metadata in UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes) {
    throw ValueError(
        str("save: needs a header of at most ", kMaxHeaderBytes, " bytes, got ", text.size()));
  }
  return text;
}

}  // namespace

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  check_tensors(tensors);
  const NoGradGuard no_grad;
  const std::vector<size_t> order = data_order(tensors);
  const std::string header = header_text(tensors, order, metadata);
  unsigned char length[8];
  for (int byte = 0; byte < 8; ++byte) {
    length[byte] = static_cast<unsigned char>(header.size() >> (8 * byte));
  }
  AtomicFile file("save", path);
  file.write(length, sizeof length);
  file.write(header.data(), header.size());
  for (const size_t index : order) {
    const Tensor packed = contiguous(host_copy(tensors[index].second));
    file.write(packed.host_data(), packed.nbytes());
  }
  file.commit();
}

}  // namespace ebb::io
