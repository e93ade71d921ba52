// ebb/core/device/stream_checks.cpp -- the words that streams leave findings in, and whose they
// are.
//
// A check has a number. Equal ones of a stream, from the same line, share it: programs do the same
// again and again, and may wait rarely. Numbers that nobody may find any more are forgotten.
#include "ebb/core/device/stream_checks.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "ebb/core/base/call_name.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/location.h"

namespace ebb {

using detail::CheckSlot;
using detail::Finding;
using detail::FindingRead;

namespace {

constexpr size_t kKept = 256;  // checks whose numbers are kept after the host has waited

// A fork must not catch another thread with it.
constinit std::mutex ledgers_mutex;
[[maybe_unused]] const int fork_handlers = pthread_atfork(
    [] { ledgers_mutex.lock(); }, [] { ledgers_mutex.unlock(); }, [] { ledgers_mutex.unlock(); });

/// A check that findings may name. Owns what a StreamCheck points at.
struct KnownCheck {
  int64_t number = 0;
  int64_t last_use = 0;
  std::string op, name, claim;
  Shape sizes;
  int64_t size = 0;
  std::optional<int64_t> ignored;
  bool wraps = false;
  bool is_whole = false;
  LocationId place = 0;

  StreamCheck shown() const {
    return {op.c_str(),
            name.c_str(),
            sizes,
            size,
            ignored ? &*ignored : nullptr,
            wraps,
            claim.empty() ? nullptr : claim.c_str(),
            is_whole};
  }
  bool is(const StreamCheck& check, LocationId from) const {
    const bool ignores = check.ignored != nullptr;
    return place == from && size == check.size && wraps == check.wraps &&
           is_whole == check.is_whole && op == check.op && name == check.name &&
           claim == (check.claim != nullptr ? check.claim : "") && equal(sizes, check.sizes) &&
           ignored.has_value() == ignores && (!ignores || *ignored == *check.ignored);
  }
};

/// The checks of one stream. Kept for as long as the process runs, like streams.
struct Ledger {
  Stream stream;
  NativeStream native = nullptr;
  void* finding = nullptr;
  int64_t queued = 0;  // checks so far
  int64_t looked = 0;  // those that the host has waited for
  int64_t numbers = 0;
  size_t turn = 0;  // where the next check probably is: they come in the same order each time
  std::vector<KnownCheck> known;

  int64_t number_of(const StreamCheck& check, LocationId place) {
    for (size_t step = 0; step < known.size(); ++step) {
      const size_t at = (turn + step) % known.size();
      if (!known[at].is(check, place)) continue;
      turn = at + 1;
      known[at].last_use = queued;
      return known[at].number;
    }
    KnownCheck& made = known.emplace_back();
    made.number = ++numbers;
    made.last_use = queued;
    made.op = check.op;
    made.name = check.name;
    if (check.claim != nullptr) made.claim = check.claim;
    made.sizes = Shape(check.sizes);
    made.size = check.size;
    made.wraps = check.wraps;
    made.is_whole = check.is_whole;
    made.place = place;
    if (check.ignored != nullptr) made.ignored = *check.ignored;
    return numbers;
  }
  const KnownCheck* find(int64_t number) const {
    const auto is_it = [&](const KnownCheck& one) { return one.number == number; };
    const auto found = std::find_if(known.begin(), known.end(), is_it);
    return found == known.end() ? nullptr : &*found;
  }
  /// Nothing found; the host has waited for all checks up to `last_check`.
  void note_looked(int64_t last_check) {
    looked = std::max(looked, last_check);
    if (known.size() <= kKept) return;
    std::erase_if(known, [&](const KnownCheck& one) { return one.last_use <= looked; });
  }
};

std::atomic<bool> has_ledgers{false};

/// Guarded by the mutex; a ledger stays where it is.
std::vector<std::unique_ptr<Ledger>>& ledgers() {
  static auto& all = *new std::vector<std::unique_ptr<Ledger>>();
  return all;
}

Ledger* find_ledger(Stream stream) {
  for (const std::unique_ptr<Ledger>& one : ledgers()) {
    if (one->stream == stream) return one.get();
  }
  return nullptr;
}

void queue_clear(const Ledger& ledger) {
  const Device device = ledger.stream.device;
  const DevicePlugin& plugin = plugin_of("fill", device);
  check_device_call(plugin.fill(device.index, ledger.finding, 0, sizeof(Finding), ledger.native),
                    "fill", device);
}

Ledger& make_ledger(Stream stream, NativeStream native) {
  auto made = std::make_unique<Ledger>();
  made->stream = stream;
  made->native = native;
  const Device device = stream.device;
  const DevicePlugin& plugin = plugin_of("allocate", device);
  check_device_call(plugin.allocate(device.index, sizeof(Finding), native, &made->finding),
                    "allocate", device);
  queue_clear(*made);
  ledgers().push_back(std::move(made));
  has_ledgers.store(true, std::memory_order_release);
  return *ledgers().back();
}

std::string place_in(IntSpan sizes, int64_t position) {
  Shape where(sizes);
  for (size_t dim = sizes.size(); dim-- > 0;) {
    where[static_cast<int>(dim)] = position % sizes[dim];
    position /= sizes[dim];
  }
  return str(where);
}

std::string text_of(const KnownCheck& check, const Finding& finding, Device device) {
  std::string text = str(index_error_prefix(check.shown()), ", got ");
  if (check.claim.empty() || check.is_whole) {
    text += str(finding.value);
  } else {
    text += str(std::bit_cast<float>(static_cast<uint32_t>(finding.value)));
  }
  if (!check.wraps) text += " at position " + place_in(check.sizes, finding.position);
  text += str("\nhint: ", to_string(device), " found it after the call");
  const SourceLocation place = describe_location(check.place);
  if (!place.file.empty()) text += str(", made at ", to_string(place));
  return text + "; with EBB_DEVICE_SYNC=1 the call itself raises";
}

/// A stream of the device with nothing on it, so that a copy there waits for nobody. One per
/// device.
NativeStream side_stream(Device device) {
  static auto& made = *new std::vector<std::pair<Device, NativeStream>>();
  const std::lock_guard lock(ledgers_mutex);
  for (const auto& [of, stream] : made) {
    if (of == device) return stream;
  }
  NativeStream stream = nullptr;
  check_device_call(plugin_of("stream", device).create_stream(device.index, &stream),
                    "create_stream", device);
  made.emplace_back(device, stream);
  return stream;
}

/// Streams of the device with checks that the host has not waited for, and their words.
std::vector<std::pair<Stream, void*>> unseen_on(Device device) {
  std::vector<std::pair<Stream, void*>> unseen;
  const std::lock_guard lock(ledgers_mutex);
  for (const std::unique_ptr<Ledger>& one : ledgers()) {
    const bool is_unseen = one->stream.device == device && one->queued > one->looked;
    if (is_unseen) unseen.emplace_back(one->stream, one->finding);
  }
  return unseen;
}

/// A wait failed while a copy to it was queued, which may come yet: its memory has to stay.
void abandon(Finding* copy) {
  static auto& abandoned = *new std::vector<Finding*>();
  if (copy == nullptr) return;
  const std::lock_guard lock(ledgers_mutex);
  abandoned.push_back(copy);
}

}  // namespace

std::string index_error_prefix(const StreamCheck& check) {
  if (check.claim != nullptr) return str(check.op, ": ", check.name, " must be ", check.claim);
  if (check.wraps) {
    return str(check.op, ": ", check.name, " must be from ", -check.size, " to ", check.size - 1);
  }
  if (check.ignored == nullptr) {
    return str(check.op, ": ", check.name, " must be at least 0 and below ", check.size);
  }
  return str(check.op, ": ", check.name, " must be a class from 0 to ", check.size - 1,
             " or ignore_index ", *check.ignored);
}

CheckSlot note_check(Stream stream, NativeStream native, const StreamCheck& check) {
  const LocationId place = current_location(nullptr);
  StreamCheck named = check;
  if (detail::current_call != nullptr) named.op = detail::current_call;
  const std::lock_guard lock(ledgers_mutex);
  Ledger* ledger = find_ledger(stream);
  if (ledger == nullptr) ledger = &make_ledger(stream, native);
  ++ledger->queued;
  return {ledger->finding, ledger->number_of(named, place)};
}

FindingRead::FindingRead(Stream stream, NativeStream native) : stream_(stream) {
  if (!has_ledgers.load(std::memory_order_acquire)) return;
  void* finding = nullptr;
  {
    const std::lock_guard lock(ledgers_mutex);
    const Ledger* const ledger = find_ledger(stream);
    if (ledger == nullptr || ledger->queued == ledger->looked) return;
    finding = ledger->finding;
    last_check_ = ledger->queued;
  }
  copy_ = new Finding();
  // A failure is told after the wait: other copies to the host may be queued already.
  status_ = plugin_of("synchronize", stream.device)
                .copy_to_host(stream.device.index, copy_, finding, sizeof(Finding), native);
}

FindingRead::~FindingRead() { abandon(copy_); }

void FindingRead::raise_if_found() {
  if (copy_ == nullptr) return;
  const std::unique_ptr<const Finding> found(std::exchange(copy_, nullptr));
  check_device_call(status_, "synchronize", stream_.device);
  std::optional<KnownCheck> check;
  {
    const std::lock_guard lock(ledgers_mutex);
    Ledger& ledger = *find_ledger(stream_);
    const KnownCheck* const known = found->number == 0 ? nullptr : ledger.find(found->number);
    if (known != nullptr) {
      check = *known;
      queue_clear(ledger);
    }
    ledger.note_looked(last_check_);
  }
  if (!check) return;
  const CallName nobody(nullptr);  // it is not of the call that waits
  const std::string text =
      text_of(*check, *found, stream_.device);  // asks Python: without the lock
  if (!check->claim.empty()) throw ValueError(text);
  throw IndexError(text);
}

std::optional<Stream> detail::stream_with_finding(Device device) {
  if (!has_ledgers.load(std::memory_order_acquire)) return std::nullopt;
  for (const auto& [stream, finding] : unseen_on(device)) {
    const DevicePlugin& plugin = plugin_of("synchronize", device);
    const NativeStream aside = side_stream(device);
    auto copy = std::make_unique<Finding>();
    int status = plugin.copy_to_host(device.index, copy.get(), finding, sizeof(Finding), aside);
    if (status == 0) status = plugin.synchronize_stream(device.index, aside);
    if (status != 0) abandon(copy.release());
    check_device_call(status, "synchronize", device);
    if (copy->number != 0) return stream;
  }
  return std::nullopt;
}

}  // namespace ebb
