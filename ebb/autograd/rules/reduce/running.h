// ebb/autograd/rules/reduce/running.h -- gradient rules of running extrema: those of reductions by
// index.
#pragma once

#include "ebb/autograd/rules/reduce/extrema.h"
