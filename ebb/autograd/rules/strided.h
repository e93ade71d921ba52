// ebb/autograd/rules/strided.h -- gradient rules of as_strided(): regions of memory.
#pragma once

#include "ebb/autograd/history/region.h"  // IWYU pragma: export
