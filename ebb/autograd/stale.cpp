// ebb/autograd/stale.cpp -- finds the write that spoilt a saved value in its storage's log.
#include "ebb/autograd/stale.h"

#include <string>
#include <vector>

#include "ebb/core/error.h"

namespace ebb::autograd {
namespace {

std::string line_of(LocationId id) { return to_string(describe_location(id)); }

/// Whether a logged write touched bytes of the saved value.
bool overlaps(const WriteRecord& write, const ByteRange& range) {
  return !range.empty && write.first_byte <= range.last && range.first <= write.last_byte;
}

/// The first write after `version` that may have changed `value`; its op is null if the log no
/// longer tells. `is_stale` says whether there was one.
struct Staleness {
  bool is_stale = false;
  WriteRecord write;
};

Staleness find_write(const TensorImpl& value, uint32_t version) {
  const uint32_t now = value.storage->version();
  if (now == version) return {};
  const std::vector<WriteRecord> writes = value.storage->writes_since(version);
  if (writes.size() < now - version) {
    // The oldest writes have left the log: any of them may have hit.
    return {.is_stale = true, .write = writes.empty() ? WriteRecord{} : writes.front()};
  }
  const ByteRange range = byte_range(Tensor::share(const_cast<TensorImpl*>(&value)));
  for (const WriteRecord& write : writes) {
    if (overlaps(write, range)) return {.is_stale = true, .write = write};
  }
  return {};
}

}  // namespace

bool is_stale(const TensorImpl& value, uint32_t version) {
  return find_write(value, version).is_stale;
}

void refuse_stale(const Node& owner, const char* name, const TensorImpl& value, uint32_t version) {
  const Staleness found = find_write(value, version);
  if (!found.is_stale) return;
  const WriteRecord& write = found.write;
  const std::string writer = write.op == nullptr ? std::string("an in-place op")
                                                 : str(write.op, " at ", line_of(write.location));
  throw AutogradError(str(owner.name(), ": needs '", name, "' (", value.dtype, " ",
                          PrintShape{value.shape()}, ") as it was when saved at ",
                          line_of(owner.location()), ", got it modified in place by ", writer,
                          " (saved at version ", version, ", now ", value.storage->version(),
                          ")\nhint: use the out-of-place form of that op, or clone() before it"));
}

}  // namespace ebb::autograd
