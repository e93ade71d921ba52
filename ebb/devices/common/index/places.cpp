// ebb/devices/common/index/places.cpp -- launches of kernels/index/places.k; indices join element
// by element.
#include "ebb/devices/common/index/places.h"

#include <algorithm>
#include <memory>

#include "ebb/core/device/device_plugin.h"
#include "ebb/core/device/stream.h"
#include "ebb/devices/common/base/call.h"
#include "ebb/devices/launch/geometry.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

#define WRAPPED "(index < 0 ? index + size : index)"
#define IS_PLACE "index >= -size && index < size"
constexpr const char* kFirst = "(" IS_PLACE " ? " WRAPPED " : (C)-1)";
constexpr const char* kNext = "(" IS_PLACE " && before >= 0 ? before * size + " WRAPPED " : (C)-1)";
#undef WRAPPED
#undef IS_PLACE

/// The pieces of a mask and their counts, with the sum behind them.
struct Pieces {
  const Context& context;
  const TensorView& mask;
  int64_t reach;
  int64_t number;
  Scratch counts;

  Pieces(const Context& on, const TensorView& of)
      : context(on),
        mask(of),
        reach(std::max<int64_t>(256, of.numel / 4096)),
        number((of.numel + reach - 1) / reach),
        counts(on, static_cast<size_t>(number + 1) * sizeof(int64_t)) {}

  void launch(int kind, int64_t items, const TensorView* out) const {
    KernelCall call(Family::places, "nonzero", context, Compute::i64, false);
    call.set("KIND", kind, 2).set("RANK", 0, 6);
    call.add(out == nullptr ? nullptr : out->data).add(counts.data()).add(mask);
    call.add_index(mask.numel).add_index(reach).add_index(number);
    call.add_index(out == nullptr ? 0 : out->numel);
    call.run({places_k}, items, group_size_for(call.traits(), items));
  }
  void count() const {
    launch(0, number, nullptr);
    launch(1, 1, nullptr);
  }
  int64_t total() const {
    auto sum = std::make_unique<int64_t>(0);
    const Device device = context.device;
    const int status = plugin_of("nonzero", device)
                           .copy_to_host(device.index, sum.get(),
                                         static_cast<const int64_t*>(counts.data()) + number,
                                         sizeof(int64_t), native_stream(context.stream));
    check_device_call(status, "nonzero", device);
    try {
      synchronize(context.stream);
    } catch (...) {
      static_cast<void>(sum.release());  // the copy may come yet
      throw;
    }
    return *sum;
  }
};

}  // namespace

int64_t run_combine_index(const Context& context, const TensorView& index, int64_t size,
                          bool is_first, const TensorView& out) {
  if (out.numel == 0) return -1;
  const TensorView number{.data = &size, .numel = 1, .dtype = DType::int64, .on_host = true};
  const Elementwise work{.family = Family::combine_index,
                         .number = is_first ? 0u : 1u,
                         .op = "index",
                         .parameters = is_first ? "index, size" : "index, size, before",
                         .expression = is_first ? kFirst : kNext,
                         .compute = Compute::i64};
  const TensorView* const operands[] = {&index, &number, &out};
  run_elementwise(work, context, out, std::span(operands).first(is_first ? 2 : 3));
  return -1;
}

int64_t run_find_true(const Context& context, const TensorView& mask, const TensorView* out) {
  if (mask.numel == 0) return 0;
  const Pieces pieces(context, mask);
  pieces.count();
  if (out == nullptr) return pieces.total();
  pieces.launch(2, pieces.number, out);
  return out->numel;
}

void run_unravel(const Context& context, const TensorView& flat, std::span<const int64_t> sizes,
                 const TensorView& out) {
  if (out.numel == 0) return;
  KernelCall call(Family::places, "unravel", context, Compute::i64, false);
  call.set("KIND", 3, 2).set("RANK", static_cast<int64_t>(sizes.size()), 6);
  call.add(out).add(flat).add_index(flat.numel);
  call.add_bytes({reinterpret_cast<const char*>(sizes.data()), sizes.size_bytes()});
  call.run({places_k}, flat.numel, group_size_for(call.traits(), flat.numel));
}

}  // namespace ebb::devices
