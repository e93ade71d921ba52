// tests/sanitizers.h -- which sanitizer the tests were compiled with.
#pragma once

#include "ebb/core/runtime/block_cache.h"

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

/// Of any kind; then malloc is the sanitizer's, and ebb keeps no free lists.
#ifdef EBB_SANITIZER_BUILD
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace ebb
