// ebb/devices/common/index/index_watch.cpp -- one launch for a few elements, two for many.
#include "ebb/devices/common/index/index_watch.h"

#include <algorithm>
#include <span>

#include "ebb/devices/common/base/call.h"
#include "ebb/devices/launch/geometry.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

constexpr int64_t kStretch = 8192;  // elements that are worth a group
constexpr int64_t kMostGroups = 1024;

enum class Kind { whole, parts, total };

/// What is wrong, beside where it lies.
struct Bounds {
  int64_t low = 0, high = 0;
  const int64_t* ignored = nullptr;
  double least = 0, most = 0;  // of real numbers
};

/// What the launches share.
struct Look {
  const Context& context;
  const TensorView& input;
  const Bounds& bounds;
  const ebb::detail::CheckSlot& slot;
  const LoopNest& nest;

  bool is_real() const { return is_floating(input.dtype); }
  /// Queues `groups` groups, for which `reach` is what their kind takes.
  void run(Kind kind, void* parts, int64_t reach, int64_t groups) const {
    const bool as_int32 = nest.fits_int32();
    const Compute compute = compute_of(input.dtype);
    const bool ignores = bounds.ignored != nullptr;
    KernelCall call(Family::index_watch, is_real() ? "check_range" : "check_index", context,
                    compute, as_int32);
    call.set("KIND", static_cast<int64_t>(kind), 2).set("IGNORES", ignores, 1);
    call.set("RANK", nest.rank(), 6).set("T", input.dtype).set("IS_REAL", is_real(), 1);
    call.add(slot.finding).add(parts).add(input).add_index(nest.numel()).add_index(reach);
    const int64_t numbers[] = {bounds.low, bounds.high, ignores ? *bounds.ignored : 0, slot.number};
    if (is_real()) {
      call.add_number(bounds.least).add_number(bounds.most);
    }
    for (const int64_t& number : std::span(numbers).subspan(is_real() ? 2 : 0)) {
      call.add_bytes({reinterpret_cast<const char*>(&number), sizeof number});
    }
    char packed[kMostPacked];
    if (nest.rank() > 0) {
      call.add_bytes({packed, nest.pack(as_int32, packed)});
    }
    const uint32_t group_size = call.traits().is_cpu ? 1 : call.traits().group_size;
    call.run({index_watch_k}, groups * group_size, group_size);
  }
};

void look(const Context& context, const TensorView& input, const Bounds& bounds,
          const ebb::detail::CheckSlot& slot) {
  if (input.numel == 0) return;
  const TensorView* const views[] = {&input};
  const LoopNest nest(input.shape(), views, false);
  const Look look{context, input, bounds, slot, nest};
  const Traits& traits = driver().traits(context.device.index);
  const int64_t most = traits.is_cpu ? int64_t{traits.units} * 4 : kMostGroups;
  const int64_t groups = std::clamp<int64_t>(input.numel / kStretch, 1, most);
  if (groups == 1) return look.run(Kind::whole, nullptr, input.numel, 1);
  const Scratch parts(context, static_cast<size_t>(groups) * sizeof(int64_t));
  look.run(Kind::parts, parts.data(), (input.numel + groups - 1) / groups, groups);
  look.run(Kind::total, parts.data(), groups, 1);
}

}  // namespace

void run_index_watch(const Context& context, const TensorView& index, int64_t low, int64_t high,
                     const int64_t* ignored, const ebb::detail::CheckSlot& slot) {
  look(context, index, {.low = low, .high = high, .ignored = ignored}, slot);
}

void run_range_watch(const Context& context, const TensorView& input, double low, double high,
                     const ebb::detail::CheckSlot& slot) {
  look(context, input, {.least = low, .most = high}, slot);
}

}  // namespace ebb::devices
