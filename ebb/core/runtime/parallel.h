// ebb/core/runtime/parallel.h -- the thread pool, behind one function: parallel_for.
//
// Work is cut into pieces by its size alone, never by the number of threads, and pieces only write
// what is theirs: so results are bitwise the same for any number of threads. Calls from inside a
// piece run inline. A forked child starts with an empty pool of its own.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "ebb/core/base/export.h"

namespace ebb {

/// A non-owning reference to a callable: two pointers, no allocation.
template <typename Signature>
class FunctionRef;
template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename Body>
  requires(!std::is_same_v<std::remove_cvref_t<Body>, FunctionRef>)
      FunctionRef(Body&& body)  // NOLINT: made in place from a lambda
      : body_(const_cast<void*>(static_cast<const void*>(&body))),
        call_([](void* target, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Body>*>(target))(
              std::forward<Args>(args)...);
        }) {}
  Result operator()(Args... args) const { return call_(body_, std::forward<Args>(args)...); }

 private:
  void* body_;
  Result (*call_)(void*, Args...);
};

/// How many threads parallel_for may use, the caller included. At start: EBB_NUM_THREADS, else the
/// number of cores this process may run on.
EBB_API int num_threads();
/// Throws ValueError unless 1 <= count <= 1024.
EBB_API void set_num_threads(int64_t count);

/// Whether this thread is inside a piece of some parallel_for, so that further ones run inline.
EBB_API bool is_in_parallel_piece();

namespace detail {
EBB_API void run_pieces(int64_t pieces, FunctionRef<void(int64_t)> piece);
}

/// Calls `body(begin, end)` for consecutive pieces of [0, range), each of `grain` items but the
/// last, perhaps at the same time. Returns when all are done. If pieces throw, the exception of the
/// first of them in order is rethrown here.
template <typename Body>
void parallel_for(int64_t range, int64_t grain, Body&& body) {
  if (range <= 0) return;
  if (range <= grain) {
    body(int64_t{0}, range);
    return;
  }
  const int64_t pieces = (range - 1) / grain + 1;
  detail::run_pieces(pieces, [&](int64_t piece) {
    const int64_t begin = piece * grain;
    body(begin, begin + grain < range ? begin + grain : range);
  });
}

}  // namespace ebb
