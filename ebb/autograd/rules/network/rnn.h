// ebb/autograd/rules/network/rnn.h -- gradient rules of recurrent layers (recurrent.cpp).
#pragma once

#include <span>
#include <vector>

#include "ebb/core/tensor/tensor.h"

namespace ebb::autograd::rules {

// `operands`: the inputs of the scan, then the gradients of its
// results; `grads`: the gradients that arrive. Gives one gradient per operand.
std::vector<Tensor> lstm_scan_second_grads(std::span<const Tensor> grads,
                                           const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> gru_scan_second_grads(std::span<const Tensor> grads,
                                          const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> rnn_scan_second_grads(std::span<const Tensor> grads,
                                          const std::vector<Tensor>& operands, bool is_relu,
                                          bool reverse);
/// The tangents of the results, from those of the inputs of the scan.
std::vector<Tensor> lstm_scan_tangents(const std::vector<Tensor>& tangents,
                                       const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> gru_scan_tangents(const std::vector<Tensor>& tangents,
                                      const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> rnn_scan_tangents(const std::vector<Tensor>& tangents,
                                      const std::vector<Tensor>& operands, bool is_relu,
                                      bool reverse);
/// The tangents of the gradients, from those of the operands.
std::vector<Tensor> lstm_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                            const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> gru_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                           const std::vector<Tensor>& operands, bool reverse);
std::vector<Tensor> rnn_scan_grad_tangents(const std::vector<Tensor>& tangents,
                                           const std::vector<Tensor>& operands, bool is_relu,
                                           bool reverse);

}  // namespace ebb::autograd::rules
