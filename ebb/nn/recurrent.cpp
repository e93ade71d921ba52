// ebb/nn/recurrent.cpp -- stacks of recurrent layers: the loop over layers and directions.
#include "ebb/nn/recurrent.h"

#include <cmath>

#include "ebb/autograd/ops/cat.h"
#include "ebb/autograd/ops/dropout.h"
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/gru_layer.h"
#include "ebb/autograd/ops/lstm_layer.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/autograd/ops/transpose.h"
#include "ebb/autograd/ops/unsqueeze.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/base/error.h"
#include "ebb/nn/init.h"

namespace ebb::nn {
Recurrent::Recurrent(const char* name, int64_t gates, int64_t input_size, int64_t hidden_size,
                     const RecurrentOptions& options)
    : name_(name),
      gates_(gates),
      input_size_(input_size),
      hidden_size_(hidden_size),
      options_(options) {
  if (input_size < 1 || hidden_size < 1 || options.num_layers < 1) {
    throw ValueError(str(name, ": needs input_size, hidden_size and num_layers of at least 1, got ",
                         input_size, ", ", hidden_size, " and ", options.num_layers));
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    throw ValueError(str(name, ": dropout needs a probability from 0 to 1, got ", options.dropout));
  }
  const int64_t rows = gates * hidden_size;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    const int64_t columns = layer == 0 ? input_size : hidden_size * directions();
    for (int64_t direction = 0; direction < directions(); ++direction) {
      const std::string suffix = str("_l", layer, direction == 1 ? "_reverse" : "");
      Weights own;
      own.weight_ih = add_parameter("weight_ih" + suffix, Shape{rows, columns});
      own.weight_hh = add_parameter("weight_hh" + suffix, Shape{rows, hidden_size});
      if (options.with_bias) {
        own.bias_ih = add_parameter("bias_ih" + suffix, Shape{rows});
        own.bias_hh = add_parameter("bias_hh" + suffix, Shape{rows});
      }
      weights_.push_back(own);
    }
  }
}

Tensor Recurrent::add_parameter(const std::string& name, const Shape& shape) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden_size_));
  const Tensor weight = ebb::empty(shape, options_.dtype);
  init::uniform_(weight, -bound, bound);
  return register_parameter(name, weight);
}

Tensor Recurrent::first_states(const char* what, const Tensor& given, const Tensor& input) const {
  const Shape shape{options_.num_layers * directions(), input.size(1), hidden_size_};
  if (!given.defined()) return zeros(shape, input.dtype());
  if (!equal(given.sizes(), shape)) {
    throw ShapeError(str(name_, ": ", what, " needs shape ", shape, ", got ", given.shape()));
  }
  return given;
}

Tensor Recurrent::forward(const Tensor& input) { return run(input, {}, {}).output; }

RecurrentResult Recurrent::run(const Tensor& input, const Tensor& h0, const Tensor& c0) {
  if (input.ndim() != 3 || input.size(2) != input_size_) {
    throw ShapeError(str(name_, ": input needs 3 dims, the last of size ", input_size_, ", got ",
                         input.shape()));
  }
  const bool has_cells = gates_ == 4;
  Tensor values = options_.batch_first ? transpose(input, 0, 1) : input;
  const Tensor states = first_states("h0", h0, values);
  const Tensor cells = has_cells ? first_states("c0", c0, values) : Tensor();
  std::vector<Tensor> last_states, last_cells;
  for (size_t place = 0; place < weights_.size();) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions(); ++direction, ++place) {
      const auto& [weight_ih, weight_hh, bias_ih, bias_hh] = weights_[place];
      const auto index = static_cast<int64_t>(place);
      const Tensor h = select(states, 0, index);
      Tensor out, h_n, c_n;
      if (has_cells) {
        std::tie(out, h_n, c_n) = lstm_layer(values, h, select(cells, 0, index), weight_ih,
                                             weight_hh, bias_ih, bias_hh, direction == 1);
        last_cells.push_back(unsqueeze(c_n, 0));
      } else {
        std::tie(out, h_n) =
            gru_layer(values, h, weight_ih, weight_hh, bias_ih, bias_hh, direction == 1);
      }
      outputs.push_back(out);
      last_states.push_back(unsqueeze(h_n, 0));
    }
    values = outputs.size() == 1 ? outputs[0] : cat(outputs, -1);
    const bool drops = options_.dropout > 0 && is_training() && place < weights_.size();
    if (drops) values = dropout(values, options_.dropout, true);
  }
  return {options_.batch_first ? transpose(values, 0, 1) : values, cat(last_states, 0),
          has_cells ? cat(last_cells, 0) : Tensor()};
}

}  // namespace ebb::nn
