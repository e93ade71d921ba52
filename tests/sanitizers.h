// tests/sanitizers.h -- which sanitizer the tests were compiled with.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define EBB_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EBB_THREAD_SANITIZER 1
#endif
#endif

namespace ebb {

#ifdef EBB_THREAD_SANITIZER
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

}  // namespace ebb
