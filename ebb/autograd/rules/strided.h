// ebb/autograd/rules/strided.h -- gradient rules of as_strided(): regions of memory.
#pragma once

#include "ebb/autograd/history/region.h"

namespace ebb::autograd::rules {

using autograd::packed_region;
using autograd::Region;
using autograd::strided_read;

}  // namespace ebb::autograd::rules
