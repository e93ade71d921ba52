// ebb/devices/common/reduce/scan.cpp -- one launch where there are lines enough, else three over
// pieces.
#include "ebb/devices/common/reduce/scan.h"

#include <optional>

#include "ebb/devices/common/base/lines.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

/// Integers wrap around, as unsigned ones do.
Compute compute_for_sums(DType dtype, const Traits& traits) {
  return is_floating(dtype) ? widest_real(traits) : Compute::u64;
}

/// How long a piece is; the whole line where lines keep the device busy.
int64_t piece_length(const Lines& lines, const Traits& traits) {
  const int64_t shortest = traits.is_cpu ? 65536 : 256;
  const int64_t busy = int64_t{traits.units} * (traits.is_cpu ? 4 : 2 * traits.group_size);
  return lines.lines() >= busy || lines.length() < 2 * shortest ? lines.length() : shortest;
}

}  // namespace

void run_scan(const Context& context, const TensorView& input, int dim, bool reversed,
              const TensorView& out) {
  if (out.numel == 0) return;
  const Traits& traits = driver().traits(context.device.index);
  const TensorView* const views[] = {&out, &input};
  Lines lines(views, dim, traits, false);
  const int64_t length = piece_length(lines, traits);
  const int64_t pieces = (lines.length() + length - 1) / length;
  if (pieces == 1) lines.take_columns(traits);
  std::optional<Scratch> sums;
  if (pieces > 1) sums.emplace(context, static_cast<size_t>(lines.lines() * pieces) * 8);
  const auto launch = [&](int kind, int64_t items) {
    KernelCall call(Family::scan, "scan", context, compute_for_sums(out.dtype, traits),
                    lines.fits_int32());
    call.set("KIND", kind, 2).set("IS_REVERSED", reversed, 1).set("HAS_SUMS", pieces > 1, 1);
    call.set("T", out.dtype);
    lines.specialise(call);
    call.add(out).add(input).add(sums ? sums->data() : out.data);
    call.add_index(items).add_index(pieces).add_index(length);
    lines.add_to(call);
    call.run({lines_k, scan_k}, items, group_size_for(traits, items));
  };
  if (pieces > 1) {
    launch(0, lines.lines() * pieces);
    launch(1, lines.lines());
  }
  launch(2, pieces > 1 ? lines.lines() * pieces : lines.items());
}

}  // namespace ebb::devices
