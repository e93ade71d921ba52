// ebb/autograd/rules/rules.h -- gradient rules too long for the op table, for generated nodes.
//
// Formulas in ops/*.yaml call them as rules::name(...). They are written over recorded ops (ebb::),
// so that derivatives of any order follow.
#pragma once

#include "ebb/core/tensor.h"

namespace ebb::autograd::rules {}
