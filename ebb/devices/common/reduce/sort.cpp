// ebb/devices/common/reduce/sort.cpp -- launches of kernels/reduce/sort.k: runs, merges, and what
// is wanted.
//
// All of a line is sorted, whatever is wanted of it. On a CPU an item sorts a long line by digits,
// in one launch: 16 Mi floats in rows of 4,096 in 0.6 s instead of 4.6 s on two cores with PoCL.
#include "ebb/devices/common/reduce/sort.h"

#include <optional>
#include <utility>

#include "ebb/devices/common/base/lines.h"
#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::Context;
using kernels::TensorView;

namespace {

constexpr int64_t kRun = 32;        // elements that an item sorts by insertion
constexpr int64_t kShortest = 128;  // line that is sorted by digits: counting takes its time

enum class Kind { runs, merge, first, nth };

/// How bits become a key.
enum class Form { natural, whole, real, truth };

Form form_of(DType dtype) {
  if (dtype == DType::boolean) return Form::truth;
  if (is_floating(dtype)) return Form::real;
  const bool is_signed = dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 ||
                         dtype == DType::int64;
  return is_signed ? Form::whole : Form::natural;
}

/// An unsigned type of so many bytes.
const char* word_of(size_t bytes) {
  return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

/// The bits of an infinity; 0 for numbers that have none.
const char* infinity_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return "0x7c00";
    case DType::bfloat16: return "0x7f80";
    case DType::float32: return "0x7f800000";
    case DType::float64: return "0x7ff0000000000000";
    default: return "0";
  }
}

size_t key_size_of(DType dtype) { return item_size(dtype) == 8 ? 8 : 4; }

/// Defines what sort_key.k needs for elements of a dtype.
void define_key(KernelCall& call, DType dtype, bool descending) {
  call.set("FORM", static_cast<int64_t>(form_of(dtype)), 2).set("DESCENDING", descending, 1);
  call.set("BITS", static_cast<int64_t>(8 * item_size(dtype)), 7);
  call.set("IS_BFLOAT", dtype == DType::bfloat16, 1);
  call.set_text("WORD", word_of(item_size(dtype))).set_text("KEY", word_of(key_size_of(dtype)));
  call.set_text("INFINITY_BITS", infinity_of(dtype));
}

/// Keys and places of all lines, in one order.
struct Ordered {
  Scratch keys, places;
  Ordered(const Context& context, int64_t count, size_t key_size, size_t index_size)
      : keys(context, static_cast<size_t>(count) * key_size),
        places(context, static_cast<size_t>(count) * index_size) {}
};

struct Sort {
  const char* op;
  const Context& context;
  const TensorView& input;
  const TensorView& out;
  const TensorView& indices;
  bool descending = false;
  bool nan_wins = false;
  const TensorView* views[3] = {&out, &indices, &input};
  const Traits& traits = driver().traits(context.device.index);
  Lines lines;
  bool as_int32 = false;

  Sort(const char* name, const Context& on, const TensorView& from, int dim, const TensorView& to,
       const TensorView& places)
      : op(name),
        context(on),
        input(from),
        out(to),
        indices(places),
        lines(views, dim, traits, false),
        as_int32(lines.fits_int32() && lines.lines() * lines.length() <= int64_t{1} << 29) {}

  size_t key_size() const { return key_size_of(input.dtype); }
  /// Lines by digits: each is one item's, so few of them leave most of many cores idle.
  bool is_by_digits() const {
    return traits.is_cpu && lines.length() >= kShortest && lines.lines() * 8 >= traits.units;
  }
  int64_t chunk() const { return traits.is_cpu ? 64 : 16; }  // divides 2 * kRun

  /// Queues `per_line` items for each line.
  void launch(Kind kind, const Ordered* from, const Ordered* to, int64_t per_line, int64_t run,
              int64_t wanted) {
    // Keys alone matter to a merge, and nothing of them to what comes after.
    const bool is_merge = kind == Kind::merge;
    const bool is_radix = kind >= Kind::first && is_by_digits();
    const bool reads_elements = kind == Kind::runs || is_radix;
    const DType words = item_size(input.dtype) == 1   ? DType::uint8
                        : item_size(input.dtype) == 2 ? DType::uint16
                        : item_size(input.dtype) == 4 ? DType::uint32
                                                      : DType::uint64;
    const DType keys = key_size() == 8 ? DType::uint64 : DType::uint32;
    KernelCall call(Family::sort, op, context, Compute::i64, as_int32);
    define_key(call,
               reads_elements ? input.dtype
               : is_merge     ? keys
                              : words,
               reads_elements && descending);
    call.set("KIND", static_cast<int64_t>(kind), 2).set("NAN_WINS", nan_wins && !is_merge, 1);
    call.set("HAS_VALUES", kind >= Kind::first && out.data != nullptr, 1);
    call.set("RUN", kRun, 7).set("CHUNK", chunk(), 7).set("RADIX", is_radix, 1);
    lines.specialise(call);
    call.add(out).add(indices).add(input);
    for (const Ordered* one : {from, to}) {
      call.add(one == nullptr ? nullptr : one->keys.data());
      call.add(one == nullptr ? nullptr : one->places.data());
    }
    const int64_t items = lines.lines() * per_line;
    call.add_index(items).add_index(per_line).add_index(run).add_index(wanted);
    lines.add_to(call);
    // Items that count have an array each: those of a group would have all of theirs at once.
    const uint32_t group_size = is_radix ? 1 : group_size_for(traits, items);
    call.run({lines_k, sort_key_k, sort_k}, items, group_size);
  }

  /// Sorts all lines and queues `kind`, which takes what is wanted of them.
  void run(Kind kind, int64_t per_line, int64_t wanted) {
    const int64_t length = lines.length();
    const int64_t count = lines.lines() * length;
    const size_t index_size = as_int32 ? sizeof(int32_t) : sizeof(int64_t);
    const Ordered one(context, count, key_size(), index_size);
    std::optional<Ordered> other;
    if (length > kRun) other.emplace(context, count, key_size(), index_size);
    if (is_by_digits()) return launch(kind, &one, &*other, 1, 0, wanted);
    launch(Kind::runs, nullptr, &one, (length + kRun - 1) / kRun, kRun, 0);
    const Ordered* from = &one;
    const Ordered* to = other ? &*other : nullptr;
    for (int64_t run = kRun; run < length; run *= 2) {
      launch(Kind::merge, from, to, (length + chunk() - 1) / chunk(), run, 0);
      std::swap(from, to);
    }
    launch(kind, from, nullptr, per_line, 0, wanted);
  }
};

}  // namespace

void run_sort(const Context& context, const TensorView& input, int dim, bool descending,
              const TensorView& out, const TensorView& indices) {
  if (indices.numel == 0) return;
  Sort sort("sort", context, input, dim, out, indices);
  sort.descending = descending;
  const int64_t wanted = indices.ndim == 0 ? 1 : indices.sizes[dim];
  sort.run(Kind::first, wanted, wanted);
}

void run_nth(const Context& context, const TensorView& input, int dim, int64_t position,
             bool nan_wins, const TensorView& out, const TensorView& indices) {
  if (indices.numel == 0) return;
  Sort sort("nth", context, input, dim, out, indices);
  sort.nan_wins = nan_wins && is_floating(input.dtype);
  sort.run(Kind::nth, 1, position);
}

void run_search(const Context& context, const TensorView& sorted, const TensorView& values,
                bool right, const TensorView& out) {
  if (out.numel == 0) return;
  constexpr int64_t kMostShort = int64_t{1} << 30;
  KernelCall call(Family::search, "searchsorted", context, Compute::i64,
                  sorted.numel < kMostShort && values.numel < kMostShort);
  define_key(call, sorted.dtype, false);
  call.set("RIGHT", right, 1).add(out).add(sorted).add(values);
  call.add_index(out.numel).add_index(values.sizes[1]).add_index(sorted.sizes[1]);
  call.run({sort_key_k, search_k}, out.numel, group_size_for(call.traits(), out.numel));
}

}  // namespace ebb::devices
