// ebb/devices/common/index_watch.cpp -- one launch for a few indices, two for many.
#include "ebb/devices/common/index_watch.h"

#include <algorithm>

#include "ebb/devices/common/call.h"
#include "ebb/devices/launch/geometry.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

constexpr int64_t kStretch = 8192;  // indices that are worth a group
constexpr int64_t kMostGroups = 1024;

enum class Kind { whole, parts, total };

/// What the launches share.
struct Look {
  const Context& context;
  const TensorView& index;
  int64_t low, high;
  const int64_t* ignored;
  const ebb::detail::CheckSlot& slot;
  const LoopNest& nest;

  /// Queues `groups` groups, for which `reach` is what their kind takes.
  void run(Kind kind, void* parts, int64_t reach, int64_t groups) const {
    const bool as_int32 = nest.fits_int32();
    KernelCall call(Family::index_watch, "check_index", context, Compute::i64, as_int32);
    call.set("KIND", static_cast<int64_t>(kind), 2).set("IGNORES", ignored != nullptr, 1);
    call.set("RANK", nest.rank(), 6);
    call.add(slot.finding).add(parts).add(index).add_index(nest.numel()).add_index(reach);
    const int64_t numbers[] = {low, high, ignored == nullptr ? 0 : *ignored, slot.number};
    for (const int64_t& number : numbers) {
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

}  // namespace

void run_index_watch(const Context& context, const TensorView& index, int64_t low, int64_t high,
                     const int64_t* ignored, const ebb::detail::CheckSlot& slot) {
  if (index.numel == 0) return;
  const TensorView* const views[] = {&index};
  const LoopNest nest(index.shape(), views, false);
  const Look look{context, index, low, high, ignored, slot, nest};
  const Traits& traits = driver().traits(context.device.index);
  const int64_t most = traits.is_cpu ? int64_t{traits.units} * 4 : kMostGroups;
  const int64_t groups = std::clamp<int64_t>(index.numel / kStretch, 1, most);
  if (groups == 1) return look.run(Kind::whole, nullptr, index.numel, 1);
  const Scratch parts(context, static_cast<size_t>(groups) * sizeof(int64_t));
  look.run(Kind::parts, parts.data(), (index.numel + groups - 1) / groups, groups);
  look.run(Kind::total, parts.data(), groups, 1);
}

}  // namespace ebb::devices
