// examples/cpp/digits_cnn.cpp -- trains a convolutional network on handwritten digits, in C++
// alone.
//
// Writes the loss curve and the weights; the last line is the accuracy on held-out images. With
// --score FILE it loads weights instead. Start reading at main().
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ebb/ebb.h"
#include "examples/cpp/chart.h"
#include "examples/cpp/progress.h"

namespace {

using ebb::Tensor;

struct Arguments {
  std::string data = "data/digits/digits.safetensors";
  std::string out = "build/demo-cpp";
  std::string score;  // weights to test instead of training
  int epochs = 15;
  uint64_t seed = 0;
};

constexpr int64_t kBatchSize = 32;
constexpr double kLearningRate = 1e-2;  // at its peak

namespace nn = ebb::nn;

/// Two 3x3 convolutions, pooling to 4x4, 64 hidden units, 10 scores. Names and order of the parts
/// are those of the Python example, so that both draw the same first weights.
struct Cnn : nn::Module {
  template <typename Part, typename... Args>
  std::shared_ptr<Part> part(const char* name, Args&&... args) {
    return register_module(name, std::make_shared<Part>(std::forward<Args>(args)...));
  }
  std::shared_ptr<nn::Conv2d> strokes =
      part<nn::Conv2d>("strokes", 1, 16, 3, nn::Conv2dOptions{.padding = 1});
  std::shared_ptr<nn::Conv2d> shapes =
      part<nn::Conv2d>("shapes", 16, 32, 3, nn::Conv2dOptions{.padding = 1});
  std::shared_ptr<nn::Dropout> dropout = part<nn::Dropout>("dropout", 0.25);
  std::shared_ptr<nn::Linear> hidden = part<nn::Linear>("hidden", 32 * 4 * 4, 64);
  std::shared_ptr<nn::Linear> scores = part<nn::Linear>("scores", 64, 10);
  nn::MaxPool2d pool{2};

  Tensor forward(const Tensor& images) override {
    Tensor x = images.reshape({-1, 1, 8, 8});
    x = (*shapes)((*strokes)(x).relu()).relu();
    x = (*dropout)(pool(x).flatten(1));
    return (*scores)((*dropout)((*hidden)(x).relu()));
  }
};

/// Cross-entropy; a tenth of each target is spread over all digits, which halves the errors on
/// images that the network has not seen.
Tensor loss_of(const Tensor& scores, const Tensor& labels) {
  ebb::nn::CrossEntropyLoss criterion({.label_smoothing = 0.1});
  return criterion(scores, labels);
}

int64_t count_correct(const Tensor& scores, const Tensor& labels) {
  const ebb::NoGradGuard no_grad;
  return ebb::eq(scores.argmax(1), labels).sum().item<int64_t>();
}

struct Score {
  double loss;
  double accuracy;
};

/// Loss and accuracy over all images, without dropout.
Score evaluate(Cnn& model, const ebb::data::LabelledImages& data) {
  const ebb::NoGradGuard no_grad;
  model.eval();
  const Tensor scores = model(data.images);
  model.train();
  const double loss = loss_of(scores, data.labels).item<double>();
  const auto count = static_cast<double>(data.labels.numel());
  return {loss, static_cast<double>(count_correct(scores, data.labels)) / count};
}

/// 0 .. count - 1 in random order: the ranks of as many random numbers.
Tensor permutation(int64_t count) { return ebb::argsort(ebb::rand({count}, ebb::DType::float64)); }

/// Goes over the training images once; returns the mean loss.
double train_epoch(Cnn& model, ebb::optim::AdamW& optimizer, ebb::optim::OneCycleLR& schedule,
                   const ebb::data::LabelledImages& data, Progress& progress) {
  const int64_t count = data.labels.numel();
  const Tensor order = permutation(count);
  int64_t seen = 0, correct = 0;
  double total_loss = 0.0;
  while (seen < count) {
    const int64_t end = std::min(seen + kBatchSize, count);
    const Tensor rows = ebb::slice(order, 0, seen, end);
    const Tensor images = data.images.index_select(0, rows);
    const Tensor labels = data.labels.index_select(0, rows);
    optimizer.zero_grad();
    const Tensor scores = model(images);
    const Tensor loss = loss_of(scores, labels);
    loss.backward();
    optimizer.step();
    schedule.step();
    correct += count_correct(scores, labels);
    total_loss += loss.item<double>() * static_cast<double>(end - seen);
    const int64_t batch = end - seen;
    seen = end;
    const auto done = static_cast<double>(seen);
    progress.update(batch, total_loss / done, static_cast<double>(correct) / done);
  }
  return total_loss / static_cast<double>(count);
}

void train(const Arguments& arguments, const ebb::data::DigitsSplit& data) {
  Cnn model;
  ebb::optim::AdamW optimizer(model.parameters(), {.lr = kLearningRate, .weight_decay = 1e-2});
  const int64_t count = data.train.labels.numel();
  const int64_t steps = arguments.epochs * ((count + kBatchSize - 1) / kBatchSize);
  ebb::optim::OneCycleLR schedule(optimizer, {.max_lr = kLearningRate, .total_steps = steps});
  Progress progress(arguments.epochs * count);
  Curve training{"training", {}}, held_out{"held out", {}};
  for (int epoch = 0; epoch < arguments.epochs; ++epoch) {
    training.values.push_back(train_epoch(model, optimizer, schedule, data.train, progress));
    held_out.values.push_back(evaluate(model, data.test).loss);
  }
  progress.close();
  std::filesystem::create_directories(arguments.out);
  const std::string chart = arguments.out + "/loss.svg";
  const std::string weights = arguments.out + "/weights.safetensors";
  write_line_chart(chart, {"Handwritten digits", "epoch", "cross-entropy"}, {training, held_out});
  ebb::io::save_safetensors(weights, model.state_dict());
  std::printf("loss curve: %s\nweights: %s\n", chart.c_str(), weights.c_str());
  std::printf("test accuracy: %.1f %%\n", 100 * evaluate(model, data.test).accuracy);
}

void score(const Arguments& arguments, const ebb::data::DigitsSplit& data) {
  Cnn model;
  model.load_state_dict(ebb::io::load_safetensors(arguments.score).tensors);
  const Score result = evaluate(model, data.test);
  std::printf("%s: loss %.4f on %lld held-out images\n", arguments.score.c_str(), result.loss,
              static_cast<long long>(data.test.labels.numel()));
  std::printf("test accuracy: %.1f %%\n", 100 * result.accuracy);
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string name = values[i];
    if (i + 1 == count) throw ebb::ValueError("ebb_demo_cpp: needs a value after " + name);
    const char* const value = values[i + 1];
    if (name == "--data")
      arguments.data = value;
    else if (name == "--out")
      arguments.out = value;
    else if (name == "--score")
      arguments.score = value;
    else if (name == "--epochs")
      arguments.epochs = std::max(std::atoi(value), 1);
    else if (name == "--seed")
      arguments.seed = std::strtoull(value, nullptr, 10);
    else
      throw ebb::ValueError(
          "ebb_demo_cpp: needs --data, --out, --score, --epochs or --seed, "
          "each with a value, got " +
          name);
  }
  return arguments;
}

}  // namespace

int main(int count, char** values) {
  try {
    const Arguments arguments = parse(count, values);
    ebb::default_generator().set_seed(arguments.seed);
    const ebb::data::DigitsSplit data = ebb::data::load_digits(arguments.data);
    std::printf("digits: %lld images to train on, %lld held out\n",
                static_cast<long long>(data.train.labels.numel()),
                static_cast<long long>(data.test.labels.numel()));
    arguments.score.empty() ? train(arguments, data) : score(arguments, data);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
