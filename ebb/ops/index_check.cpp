// ebb/ops/index_check.cpp -- looks for indices out of range, and words the errors.
#include "ebb/ops/index_check.h"

#include "ebb/core/base/error.h"
#include "ebb/core/base/flags.h"
#include "ebb/core/device/stream_checks.h"
#include "ebb/core/tensor/device_memory.h"
#include "ebb/core/tensor/meta.h"
#include "ebb/kernels/index_watch.h"
#include "ebb/kernels/signatures.h"
#include "ebb/kernels/tables/find_out_of_range.h"
#include "ebb/ops/view_of.h"

namespace ebb::ops {
namespace {

/// The element at a row-major position of an int64 tensor.
int64_t element_at(const Tensor& index, int64_t position) {
  const TensorImpl& impl = *index.impl();
  int64_t offset = 0;
  for (int dim = impl.ndim - 1; dim >= 0; --dim) {
    offset += position % impl.sizes()[dim] * impl.strides()[dim];
    position /= impl.sizes()[dim];
  }
  return static_cast<const int64_t*>(index.host_data())[offset];
}

[[noreturn]] void throw_described(const char* op, const char* name, const Tensor& index,
                                  int64_t size, const kernels::WrongIndex& wrong) {
  throw IndexError(str(index_error_prefix({op, name, index.sizes(), size}), ", got ",
                       describe_wrong(wrong, index)));
}

/// The first element of an int64 tensor of the host that is not in [0, size).
std::optional<kernels::WrongIndex> find_wrong(const char* op, const Tensor& index, int64_t size) {
  const auto find = kernel_for(op, kernels::find_out_of_range_kernels, index);
  const int64_t position = find(context_of(index), view_of(index), 0, size);
  if (position < 0) [[likely]]
    return std::nullopt;
  const int64_t value = element_at(index, position);
  const bool is_gone = kernels::is_index(value, size);  // another thread has written it since
  return kernels::WrongIndex{value, is_gone ? -1 : position};
}

/// Whether each call of a device waits, so that errors are those of the call.
bool is_synchronous() {
  static const bool is_asked = flag_in_environment("device_sync", false);
  return is_asked;
}

}  // namespace

std::string describe_wrong(const kernels::WrongIndex& wrong, const Tensor& index) {
  if (wrong.position < 0) return "one that another thread wrote during the call";
  int64_t position = wrong.position;
  Shape where(index.sizes());
  for (int dim = index.ndim() - 1; dim >= 0; --dim) {
    where[dim] = position % index.sizes()[static_cast<size_t>(dim)];
    position /= index.sizes()[static_cast<size_t>(dim)];
  }
  return str(wrong.value, " at position ", where);
}

bool is_watched(const Tensor& index, const StreamCheck& check) {
  const auto watch = kernels::index_watch(backend_of(index.device()));
  if (watch == nullptr || is_on_host(index)) return false;
  const kernels::Context context = context_of(index);
  watch(context, view_of(index), check.wraps ? -check.size : 0, check.size, check.ignored,
        note_check(context.stream, native_stream(context.stream), check));
  if (is_synchronous()) synchronize(context.stream);
  return true;
}

bool is_range_watched(const Tensor& input, double low, double high, const StreamCheck& check) {
  const auto watch = kernels::range_watch(backend_of(input.device()));
  if (watch == nullptr || is_on_host(input) || !is_floating(input.dtype())) return false;
  const kernels::Context context = context_of(input);
  try {
    watch(context, view_of(input), low, high,
          note_check(context.stream, native_stream(context.stream), check));
  } catch (const MissingKernel&) {
    return false;  // the device lacks the dtype
  }
  if (is_synchronous()) synchronize(context.stream);
  return true;
}

void check_index_range(const char* op, const char* name, const Tensor& index, int64_t size) {
  if (index.numel() == 0 || is_meta(index)) return;
  if (is_watched(index, {op, name, index.sizes(), size})) return;
  if (!is_on_host(index)) return check_index_range(op, name, host_copy(index), size);
  const auto wrong = find_wrong(op, index, size);
  if (wrong) throw_described(op, name, index, size, *wrong);
}

void check_whole(const Tensor& index, const StreamCheck& check) {
  if (index.numel() == 0 || is_meta(index) || is_watched(index, check)) return;
  if (!is_on_host(index)) return check_whole(host_copy(index), check);
  const auto wrong = find_wrong(check.op, index, check.size);
  if (!wrong) return;
  throw ValueError(str(index_error_prefix(check), ", got ", describe_wrong(*wrong, index)));
}

void throw_wrong_index(const char* op, const char* name, const Tensor& index, int64_t size,
                       const kernels::WrongIndex& wrong) {
  if (wrong.position < 0) check_index_range(op, name, index, size);
  throw_described(op, name, index, size, wrong);
}

}  // namespace ebb::ops
