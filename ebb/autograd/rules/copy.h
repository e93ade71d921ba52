// ebb/autograd/rules/copy.h -- gradient rules of copies: those of shapes and of sparse tensors.
#pragma once

#include "ebb/autograd/rules/shape.h"
#include "ebb/autograd/rules/sparse_math.h"
