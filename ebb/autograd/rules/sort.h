// ebb/autograd/rules/sort.h -- gradient rules of sorting: those of reductions by index.
#pragma once

#include "ebb/autograd/rules/extrema.h"
