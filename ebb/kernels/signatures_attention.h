// ebb/kernels/signatures_attention.h -- kernels of attention: softmax(query key^T) value.
//
// query [B, H, L, E], key [B, K, S, E], value [B, K, S, V]; K divides H, and H / K heads in a row
// share one of K. Elements of the last dim lie side by side, rows anywhere but not on each other.
// B, H, L, S, E and V are at least 1.
#pragma once

#include "ebb/core/base/random.h"
#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

struct AttentionOptions {
  double scale;       // of the scores
  bool is_causal;     // row i sees columns 0 to i
  double dropout;     // probability that a weight is dropped; the others grow by 1 / (1 - dropout)
  RandomState state;  // which ones: row r of all B H L rows starts at counter r * ceil(S / 4)
  /// Null, or [B, H, L, S] with any strides: bool (what is seen) or numbers added to the scores.
  const TensorView* mask;
};

/// Writes out [B, H, L, V] and, per row, the logarithm of the sum of the exponentials of its scores
/// [B, H, L], dense; a row that sees nothing gives zeros and infinity.
using AttentionKernel = void (*)(const Context&, const TensorView& query, const TensorView& key,
                                 const TensorView& value, const AttentionOptions& options,
                                 const TensorView& out, const TensorView& logsumexp);

/// What the backward pass reads. All tensors but logsumexp are laid out like the operands above.
struct AttentionSaved {
  TensorView query, key, value, out, logsumexp, grad_out;
};

/// Writes all of the gradients, which are dense.
using AttentionBackwardKernel = void (*)(const Context&, const AttentionSaved& saved,
                                         const AttentionOptions& options,
                                         const TensorView& grad_query, const TensorView& grad_key,
                                         const TensorView& grad_value);

/// out [B, H, L, S], dense = what the weights are multiplied by: 0 or 1 / (1 - dropout).
using AttentionDropoutKernel = void (*)(const Context&, const AttentionOptions& options,
                                        const TensorView& out);

}  // namespace ebb::kernels
