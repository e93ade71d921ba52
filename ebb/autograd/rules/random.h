// ebb/autograd/rules/random.h -- a gradient rule of random ops (composites/random.cpp).
#pragma once

namespace ebb::autograd::rules {

/// What elements that dropout keeps are multiplied by.
double dropout_scale(double p);

}  // namespace ebb::autograd::rules
