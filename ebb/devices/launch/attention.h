// ebb/devices/launch/attention.h -- attention as libraries of a back end take it.
#pragma once

#include <array>

#include "ebb/core/base/dtype.h"

namespace ebb::devices {

/// A [B, H, L, E] tensor: its strides in elements, of which the last is 1.
struct AttentionSide {
  void* data = nullptr;
  std::array<int64_t, 4> sizes{}, strides{};
};

/// out = softmax(scale * query key^T) value, without mask or dropout; the heads of keys divide
/// those of queries. All are of one dtype, and no size is 0.
struct Attention {
  DType dtype = DType::float32;
  double scale = 1;
  bool is_causal = false;  // row i sees columns 0 to i
  AttentionSide query, key, value, out;
  /// Dense [B, H, L], in float32 for half types: the logarithm of the sum of the exponentials of
  /// each row of scores.
  void* logsumexp = nullptr;
};

}  // namespace ebb::devices
