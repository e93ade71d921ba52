// ebb/autograd/rules/reduce/sort.h -- gradient rules of sorting: those of reductions by index.
#pragma once

#include "ebb/autograd/rules/reduce/extrema.h"
