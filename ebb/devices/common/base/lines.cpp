// ebb/devices/common/base/lines.cpp -- how lines lie and how they are shared out.
#include "ebb/devices/common/base/lines.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "ebb/devices/launch/source.h"

namespace ebb::devices {

using kernels::TensorView;

namespace {

/// Sizes of what the lines begin at.
Shape without(const TensorView& view, int dim) {
  Shape sizes(view.shape());
  if (view.ndim > 0) sizes[dim] = 1;
  return sizes;
}

}  // namespace

Lines::Lines(std::span<const TensorView* const> views, int dim, const Traits& traits, bool shares)
    : places_(without(*views.back(), dim), views, true), views_(static_cast<int>(views.size())) {
  if (views.back()->ndim > 0) length_ = views.back()->sizes[dim];
  for (size_t one = 0; one < views.size(); ++one) {
    const TensorView& view = *views[one];
    const bool is_single = view.ndim == 0 || view.sizes[dim] == 1;
    steps_[one] = is_single ? (length_ == 1 ? 1 : 0) : view.strides[dim];
    is_dense_ = is_dense_ && (is_single || steps_[one] == 1);
  }
  group_size_ = group_size_for(traits, lines());
  if (traits.is_cpu) chains_ = chains_of(length_);
  if (is_dense_) fixed_ = fixed_length(traits, lines(), length_);
  if (traits.is_cpu || !shares) return;
  const auto useful = static_cast<uint64_t>(std::max<int64_t>(length_ / 4, 1));
  lanes_ = static_cast<uint32_t>(std::min<uint64_t>(std::bit_floor(useful), group_size_));
}

void Lines::take_columns(const Traits& traits) {
  constexpr int64_t kFewest = 8;
  const int last = places_.rank() - 1;
  if (!traits.is_cpu || is_dense_ || last < 0 || places_.size(last) < kFewest) return;
  for (int one = 0; one < views_; ++one) {
    const bool is_single = steps_[one] == 0;
    if (!is_single && places_.stride(one, last) != 1) return;
  }
  columns_ = kMostColumns;
  while (columns_ > 16 && items() < int64_t{traits.units} * 2) columns_ /= 2;
  group_size_ = group_size_for(traits, items());
}

int64_t Lines::items() const {
  if (columns_ == 1) return lines() * lanes_;
  const int64_t side = places_.size(places_.rank() - 1);
  return lines() / side * ((side + columns_ - 1) / columns_);
}

bool Lines::fits_int32() const {
  constexpr int64_t kMost = int64_t{1} << 29;
  if (!places_.fits_int32() || length_ > kMost || lines() > kMost / lanes_) return false;
  return std::all_of(steps_, steps_ + views_,
                     [&](int64_t step) { return std::abs(step) * length_ <= kMost; });
}

void Lines::specialise(KernelCall& call) const {
  call.set("VIEWS", views_, 4).set("RANK", std::max(places_.rank(), 1), 6);
  call.set("LANES", lanes_, 12).set("DENSE", is_dense_, 1);
  call.set("WIDE", chains_, 6).set("COLUMNS", columns_, 11);
  call.set("SHORT", fixed_, 8);
}

void Lines::add_to(KernelCall& call) {
  const auto write = [&](char* to, int64_t value) {
    if (call.is_int32()) {
      const auto narrow = static_cast<int32_t>(value);
      std::memcpy(to, &narrow, sizeof narrow);
    } else {
      std::memcpy(to, &value, sizeof value);
    }
  };
  const size_t item = call.is_int32() ? sizeof(int32_t) : sizeof(int64_t);
  size_t used = 0;
  for (int one = 0; one < views_; ++one, used += item) write(packed_ + used, steps_[one]);
  if (places_.rank() > 0) {
    used += places_.pack(call.is_int32(), std::span(packed_).subspan(used));
  } else {  // the struct has a dim at least
    write(packed_ + used, 1);
    used += item * (1 + static_cast<size_t>(views_));
  }
  call.add_index(lines()).add_index(length_).add_bytes({packed_, used});
}

void Lines::run(KernelCall& call, std::string_view part) const {
  call.run({lines_k, part}, items(), group_size_);
}

}  // namespace ebb::devices
