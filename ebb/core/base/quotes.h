// ebb/core/base/quotes.h -- names in quotes, for messages and printed tensors.
#pragma once

#include <string>
#include <string_view>

#include "ebb/core/base/export.h"

namespace ebb {

/// UTF-8 text as Python's repr() writes it: 'w', "it's", 'two\nlines'. What cannot be seen
/// (controls, marks of direction, spaces other than ' ') is escaped, and so are bytes that are not
/// UTF-8. Unlike there, code points without a meaning stay, as each version of Python knows other
/// ones.
EBB_API std::string in_quotes(std::string_view text);

}  // namespace ebb
