// ebb/devices/common/network/recurrent.h -- LSTM, GRU and plain recurrent layers over all times.
#pragma once

#include "ebb/kernels/signatures.h"

namespace ebb::devices {

/// kernels::LstmKernel
void run_lstm_scan(const kernels::Context&, const kernels::TensorView& gates,
                   const kernels::TensorView& h0, const kernels::TensorView& c0,
                   const kernels::TensorView& weight, bool reverse, const kernels::TensorView& out,
                   const kernels::TensorView& cells, const kernels::TensorView& activated);
/// kernels::LstmBackwardKernel
void run_lstm_scan_backward(const kernels::Context&, const kernels::RecurrentSaved& saved,
                            bool reverse, const kernels::RecurrentGrads& grads);
/// kernels::GruKernel
void run_gru_scan(const kernels::Context&, const kernels::TensorView& gates,
                  const kernels::TensorView& h0, const kernels::TensorView& weight,
                  const kernels::TensorView& bias, bool reverse, const kernels::TensorView& out,
                  const kernels::TensorView& activated);
/// kernels::GruBackwardKernel
void run_gru_scan_backward(const kernels::Context&, const kernels::RecurrentSaved& saved,
                           bool reverse, const kernels::RecurrentGrads& grads);
/// kernels::RnnKernel
void run_rnn_scan(const kernels::Context&, const kernels::TensorView& gates,
                  const kernels::TensorView& h0, const kernels::TensorView& weight, bool is_relu,
                  bool reverse, const kernels::TensorView& out);
/// kernels::RnnBackwardKernel
void run_rnn_scan_backward(const kernels::Context&, const kernels::RecurrentSaved& saved,
                           bool is_relu, bool reverse, const kernels::RecurrentGrads& grads);

}  // namespace ebb::devices
