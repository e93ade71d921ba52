// ebb/nn/recurrent.h -- LSTM and GRU: stacks of recurrent layers.
//
// Each layer and direction is one op (lstm_layer, gru_layer). Names, shapes and order of parameters
// are PyTorch's: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then those that end in
// _reverse, then _l1 and so on. All are drawn uniformly from +-1/sqrt(hidden_size).
#pragma once

#include <string>
#include <vector>

#include "ebb/core/tensor/tensor.h"
#include "ebb/nn/module.h"

namespace ebb::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool with_bias = true;
  bool batch_first = false;  // [B, T, features] and not [T, B, features]
  double dropout = 0.0;      // between layers, while training
  bool bidirectional = false;
  DType dtype = default_dtype();
};

/// The last layer's states at all times, and the last states of all layers and directions
/// [num_layers * directions, B, hidden_size].
struct RecurrentResult {
  Tensor output;
  Tensor h_n;
  Tensor c_n;  // undefined for GRU
};

/// What LSTM and GRU share.
class EBB_API Recurrent : public Module {
 public:
  /// The output alone, from states of zeros.
  Tensor forward(const Tensor& input) override;

 protected:
  /// `gates`: per unit. Throws ValueError for sizes below 1 or a dropout that is no probability.
  Recurrent(const char* name, int64_t gates, int64_t input_size, int64_t hidden_size,
            const RecurrentOptions& options);
  /// Runs all layers; undefined states are zeros. Throws ShapeError for shapes that do not fit.
  RecurrentResult run(const Tensor& input, const Tensor& h0, const Tensor& c0);

 private:
  struct Weights {
    Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  };
  int64_t directions() const { return options_.bidirectional ? 2 : 1; }
  Tensor add_parameter(const std::string& name, const Shape& shape);
  Tensor first_states(const char* what, const Tensor& given, const Tensor& input) const;

  const char* name_;
  int64_t gates_, input_size_, hidden_size_;
  RecurrentOptions options_;
  std::vector<Weights> weights_;  // by layer, then direction
};

class EBB_API LSTM final : public Recurrent {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {})
      : Recurrent("LSTM", 4, input_size, hidden_size, options) {}
  using Recurrent::forward;
  RecurrentResult forward(const Tensor& input, const Tensor& h0, const Tensor& c0) {
    return run(input, h0, c0);
  }
};

class EBB_API GRU final : public Recurrent {
 public:
  GRU(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {})
      : Recurrent("GRU", 3, input_size, hidden_size, options) {}
  using Recurrent::forward;
  RecurrentResult forward(const Tensor& input, const Tensor& h0) { return run(input, h0, {}); }
};

}  // namespace ebb::nn
