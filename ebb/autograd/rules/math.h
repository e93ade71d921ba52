// ebb/autograd/rules/math.h -- what functions of one number mean for sparse operands.
#pragma once

#include "ebb/autograd/rules/sparse_math.h"
