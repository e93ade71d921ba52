// tests/devices/cuda/emulation.cu -- what CUDA C++ has and C++ lacks: comes before a kernel's
// source, which then runs on the host, an item after the other (kernel.cpp).
#include <cmath>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
using namespace std;

struct Place {
  unsigned x, y, z;
};
static Place threadIdx, blockIdx, blockDim, gridDim;
static void (*at_barrier)();

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(items)

static inline void __syncthreads() { at_barrier(); }
static inline unsigned __float_as_uint(float value) {
  unsigned bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline float __uint_as_float(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline float __int_as_float(int bits) { return __uint_as_float((unsigned)bits); }
static inline unsigned __umulhi(unsigned x, unsigned y) {
  return (unsigned)((unsigned long long)x * y >> 32);
}
template <typename T>
static T sinpi(T x) {
  const T turn = fmod(x, (T)2);  // exact, so that whole numbers give 0
  if (turn == 0 || turn == 1 || turn == -1) return copysign((T)0, x);
  return sin(turn * (T)3.14159265358979323846L);
}
template <typename T>
static T rsqrt(T x) {
  return 1 / sqrt(x);
}

// What the stand-in calls of a kernel: keeps its arguments, and runs one item of it.
template <typename... Types>
struct Arguments {
  tuple<remove_const_t<Types>...> values;
  void (*kernel)(Types...);
};
template <typename Type>
static void check_argument(Type value, void (*check)(const void*)) {
  if constexpr (is_pointer_v<Type>) check(value);
}
template <typename... Types, size_t... index>
static void* keep_them(void (*kernel)(Types...), void** places, void (*check)(const void*),
                       index_sequence<index...>) {
  auto* kept = new Arguments<Types...>{
      {*(remove_const_t<Types>*)places[index]...}, kernel};
  (check_argument(get<index>(kept->values), check), ...);
  return kept;
}
template <typename... Types>
static void* keep(void (*kernel)(Types...), void** places, void (*check)(const void*)) {
  return keep_them(kernel, places, check, index_sequence_for<Types...>());
}
template <typename... Types>
static void run(void (*)(Types...), void* kept) {
  auto* own = (Arguments<Types...>*)kept;
  apply(own->kernel, own->values);
}
template <typename... Types>
static void drop(void (*)(Types...), void* kept) {
  delete (Arguments<Types...>*)kept;
}
#undef INFINITY
#undef NAN
