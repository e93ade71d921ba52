// ebb/ops/impl/network/rnn.h -- bodies of the scans of recurrent layers and of their gradients.
#pragma once

#include <tuple>

#include "ebb/core/tensor/tensor.h"

namespace ebb::ops::impl {

using Tensors2 = std::tuple<Tensor, Tensor>;
using Tensors3 = std::tuple<Tensor, Tensor, Tensor>;
using Tensors4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

/// States, cells, activated gates (the last in the dtype that is computed in).
EBB_API Tensors3 lstm_scan(const Tensor& gates, const Tensor& h0, const Tensor& c0,
                           const Tensor& weight, bool reverse);
EBB_API Tensors4 lstm_scan_backward(const Tensor& gates, const Tensor& h0, const Tensor& c0,
                                    const Tensor& weight, const Tensor& out, const Tensor& cells,
                                    const Tensor& activated, const Tensor& grad_out,
                                    const Tensor& grad_cells, bool reverse);

EBB_API Tensors2 gru_scan(const Tensor& gates, const Tensor& h0, const Tensor& weight,
                          const Tensor& bias, bool reverse);
EBB_API Tensors4 gru_scan_backward(const Tensor& gates, const Tensor& h0, const Tensor& weight,
                                   const Tensor& bias, const Tensor& out, const Tensor& activated,
                                   const Tensor& grad_out, bool reverse);

EBB_API Tensor rnn_scan(const Tensor& gates, const Tensor& h0, const Tensor& weight, bool is_relu,
                        bool reverse);
EBB_API Tensors3 rnn_scan_backward(const Tensor& gates, const Tensor& h0, const Tensor& weight,
                                   const Tensor& out, const Tensor& grad_out, bool is_relu,
                                   bool reverse);

}  // namespace ebb::ops::impl
