// ebb/ebb.h -- everything a program needs to compute, differentiate and train.
//
//     #include <ebb/ebb.h>
//
// For programs only: ebb's own sources include what they use. Not here: graphs as data
// (ebb/graph/), new devices (ebb/core/device/device_plugin.h), gradcheck (ebb/testing/).
#pragma once

#include "ebb/autograd/checkpoint/checkpoint.h"
#include "ebb/autograd/custom/function.h"
#include "ebb/autograd/engine/grad.h"
#include "ebb/autograd/forward/forward_mode.h"
#include "ebb/autograd/forward/functional.h"
#include "ebb/autograd/history/autocast.h"
#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/print.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/hooks/hooks.h"
#include "ebb/autograd/methods.h"
#include "ebb/autograd/op_options.h"
#include "ebb/autograd/ops.h"
#include "ebb/core/base/error.h"
#include "ebb/core/base/random.h"
#include "ebb/core/runtime/parallel.h"
#include "ebb/data/digits.h"
#include "ebb/io/safetensors.h"
#include "ebb/nn/activations.h"
#include "ebb/nn/clip_grad.h"
#include "ebb/nn/containers.h"
#include "ebb/nn/convolution.h"
#include "ebb/nn/dropout.h"
#include "ebb/nn/init.h"
#include "ebb/nn/layers.h"
#include "ebb/nn/losses.h"
#include "ebb/nn/module.h"
#include "ebb/nn/normalization.h"
#include "ebb/nn/pooling.h"
#include "ebb/nn/recurrent.h"
#include "ebb/optim/adagrad.h"
#include "ebb/optim/adam.h"
#include "ebb/optim/lr_scheduler.h"
#include "ebb/optim/rmsprop.h"
#include "ebb/optim/sgd.h"
#include "ebb/optim/sparse_adam.h"
