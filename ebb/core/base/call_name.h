// ebb/core/base/call_name.h -- the function that errors made on this thread speak of.
//
// A function that is made of others must not report one that its caller never called. While a
// CallName lives, errors made on the thread name its function, whoever inside makes them; of
// several the outermost one stands.
#pragma once

#include <string>
#include <string_view>

#include "ebb/core/base/export.h"

namespace ebb {

namespace detail {
extern EBB_API thread_local constinit const char* current_call
    [[gnu::tls_model("initial-exec")]];  // null: nobody's
}  // namespace detail

class CallName {
 public:
  /// Null: errors name nobody, as in code of the user's that a function calls.
  explicit CallName(const char* name) : outer_(detail::current_call) {
    if (name == nullptr || outer_ == nullptr) detail::current_call = name;
  }
  ~CallName() { detail::current_call = outer_; }
  CallName(const CallName&) = delete;
  CallName& operator=(const CallName&) = delete;

 private:
  const char* outer_;
};

namespace detail {

/// What becomes of the name that a text has already.
enum class InnerName {
  replaced,  // errors about what was given speak of the caller's arguments
  kept,      // of others, such as a missing kernel, it is told behind: "outer: in inner, text"
};

/// "inner: text" as an error of the function `name`.
EBB_API std::string named_text(std::string_view name, std::string_view text, InnerName inner);
/// The same for the current CallName, if there is one.
std::string text_for_caller(const std::string& text, InnerName inner);

}  // namespace detail
}  // namespace ebb
