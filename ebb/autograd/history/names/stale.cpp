// ebb/autograd/history/names/stale.cpp -- finds the write that spoilt a saved value in its
// storage's log.
#include "ebb/autograd/history/names/stale.h"

#include <cctype>
#include <optional>
#include <string>

#include "ebb/autograd/history/names/place_name.h"
#include "ebb/autograd/history/names/unusable.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {
namespace {

std::optional<WriteRecord> find_write(const TensorImpl& value, uint32_t version) {
  if (value.storage->version() == version) return {};
  return value.storage->write_since(version, region_of(value));
}

/// Optimizers write under the name of their class, ops under their own, which is in small letters.
bool is_optimizer(const char* op) {
  return op != nullptr && std::isupper(static_cast<unsigned char>(op[0])) != 0;
}

std::string written_by(const WriteRecord& write, const TensorImpl& value, uint32_t version) {
  const std::string writer = write.op == nullptr ? std::string("an in-place op")
                                                 : str(write.op, " at ", line_of(write.location));
  const char* const hint =
      is_optimizer(write.op)
          ? "call backward() before step(), and detach() what is kept from an earlier step"
          : "use the out-of-place form of that op, or clone() before it";
  return str(", got it modified in place by ", writer, " (saved at version ", version, ", now ",
             value.storage->version(), ")\nhint: ", hint);
}

}  // namespace

bool is_stale(const TensorImpl& value, uint32_t version) {
  return find_write(value, version).has_value();
}

void refuse_stale(const SavedAs& saved, const TensorImpl& value, uint32_t version) {
  const std::optional<WriteRecord> write = find_write(value, version);
  if (!write) return;
  const std::string own = naming_of(value);
  note_unusable(saved.owner);
  throw AutogradError(str(title_of(saved.owner), ": needs '", saved.role, "' (", value.dtype, " ",
                          PrintShape{value.shape()}, own.empty() ? naming_of(saved.place) : own,
                          ") as it was when saved at ", line_of(saved.owner.location()),
                          written_by(*write, value, version)));
}

void refuse_stale(const char* saver, const TensorImpl& value, uint32_t version) {
  const std::optional<WriteRecord> write = find_write(value, version);
  if (!write) return;
  throw AutogradError(str(saver, ": needs a tensor (", value.dtype, " ", PrintShape{value.shape()},
                          naming_of(value), ") as it was when an op saved it",
                          written_by(*write, value, version)));
}

}  // namespace ebb::autograd
