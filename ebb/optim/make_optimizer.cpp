// ebb/optim/make_optimizer.cpp -- optimizers by name, for bindings.
#include "ebb/optim/adadelta.h"
#include "ebb/optim/adagrad.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/adam_variants.h"
#include "ebb/optim/asgd.h"
#include "ebb/optim/optimizer.h"
#include "ebb/optim/rmsprop.h"
#include "ebb/optim/rprop.h"
#include "ebb/optim/sgd.h"
#include "ebb/optim/sparse_adam.h"

namespace ebb::optim {

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, std::vector<Tensor> parameters) {
  if (name == "Adadelta") return std::make_unique<Adadelta>(std::move(parameters));
  if (name == "Adagrad") return std::make_unique<Adagrad>(std::move(parameters));
  if (name == "Adam") return std::make_unique<Adam>(std::move(parameters));
  if (name == "AdamW") return std::make_unique<AdamW>(std::move(parameters));
  if (name == "Adamax") return std::make_unique<Adamax>(std::move(parameters));
  if (name == "ASGD") return std::make_unique<ASGD>(std::move(parameters));
  if (name == "NAdam") return std::make_unique<NAdam>(std::move(parameters));
  if (name == "RAdam") return std::make_unique<RAdam>(std::move(parameters));
  if (name == "RMSprop") return std::make_unique<RMSprop>(std::move(parameters));
  if (name == "Rprop") return std::make_unique<Rprop>(std::move(parameters));
  if (name == "SGD") return std::make_unique<SGD>(std::move(parameters));
  if (name == "SparseAdam") return std::make_unique<SparseAdam>(std::move(parameters));
  return nullptr;
}

}  // namespace ebb::optim
