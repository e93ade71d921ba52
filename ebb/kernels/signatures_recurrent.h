// ebb/kernels/signatures_recurrent.h -- kernels of recurrent layers: one direction over all times.
//
// T times, B sequences, H units. `gates` holds what the input adds to each gate, one block of H
// after the other: [T, B, 4H] for LSTM (input, forget, cell, output), [T, B, 3H] for GRU (reset,
// update, new), [T, B, H] for a plain net; rows may lie anywhere, their elements side by side. All
// other operands are dense; no size is 0. `reverse` runs from the last time to the first.
#pragma once

#include "ebb/kernels/tensor_view.h"

namespace ebb::kernels {

/// Writes h and c of all times, and the gates after their activation [T, B, 4H]. weight: [4H, H].
using LstmKernel = void (*)(const Context&, const TensorView& gates, const TensorView& h0,
                            const TensorView& c0, const TensorView& weight, bool reverse,
                            const TensorView& out, const TensorView& cells,
                            const TensorView& activated);

/// What the backward pass of a recurrent layer reads. Null: not given, or no such operand.
struct RecurrentSaved {
  const TensorView* grad_out = nullptr;    // [T, B, H]
  const TensorView* grad_cells = nullptr;  // the same, for LSTM
  const TensorView* h0 = nullptr;          // [B, H]
  const TensorView* c0 = nullptr;
  const TensorView* weight = nullptr;
  const TensorView* out = nullptr;        // [T, B, H]
  const TensorView* cells = nullptr;      // the same
  const TensorView* activated = nullptr;  // [T, B, 4H]
};

/// Where the backward pass writes; each has the shape of what it is the gradient of.
struct RecurrentGrads {
  TensorView gates, h0, c0, weight, bias;  // those that the layer has
};

using LstmBackwardKernel = void (*)(const Context&, const RecurrentSaved& saved, bool reverse,
                                    const RecurrentGrads& grads);

/// The same for GRU. weight: [3H, H], bias (of the recurrent product): [3H]. activated: reset,
/// update and new gate, and the recurrent share of the new gate before it is reset: [T, B, 4H].
using GruKernel = void (*)(const Context&, const TensorView& gates, const TensorView& h0,
                           const TensorView& weight, const TensorView& bias, bool reverse,
                           const TensorView& out, const TensorView& activated);
using GruBackwardKernel = LstmBackwardKernel;

/// out = activation(gates + h weight^T), with relu or tanh. weight: [H, H].
using RnnKernel = void (*)(const Context&, const TensorView& gates, const TensorView& h0,
                           const TensorView& weight, bool is_relu, bool reverse,
                           const TensorView& out);
using RnnBackwardKernel = void (*)(const Context&, const RecurrentSaved& saved, bool is_relu,
                                   bool reverse, const RecurrentGrads& grads);

}  // namespace ebb::kernels
