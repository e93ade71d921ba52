// ebb/kernels/cpu/gemm/openblas.cpp -- calls of OpenBLAS, safe from several threads at once.
//
// The serial flavour of OpenBLAS hands out its packing buffers without a lock, so two threads could
// be given the same one and compute nonsense. Its functions ask for buffers through the symbol
// blas_memory_alloc, which this file defines with a buffer per thread. Whether the dynamic linker
// really sends them here depends on how OpenBLAS was linked; the first call finds out, and if it
// does not, calls take turns.
//
// OpenBLAS knows processors by model, and takes one younger than itself for a Pentium 4: it is told
// at load what the processor has.
#include <cblas.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "ebb/core/base/error.h"
#include "ebb/kernels/cpu/gemm/blas_call.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/simd/isa.h"

// Not in cblas.h, and not in a build for one processor only.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace ebb::kernels::cpu {
namespace {

constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

/// Has OpenBLAS choose again where it chose kernels from before AVX2 for a processor that has it. A
/// user's own choice stands. At load, when hardly anybody reads the environment beside.
bool choose_core() {
  const Isa isa = usable_isa();
  const bool can_choose = gotoblas_dynamic_init != nullptr && gotoblas_dynamic_quit != nullptr;
  if (!can_choose || isa == Isa::baseline || std::getenv(kCoreVariable) != nullptr) return false;
  if (std::string_view(openblas_get_corename()) != "Prescott") return false;
  setenv(kCoreVariable, isa == Isa::avx512 ? "SkylakeX" : "Haswell", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kCoreVariable);
  return true;
}
[[maybe_unused]] const bool has_chosen_core = choose_core();

// Twice what OpenBLAS asks of a buffer on x86-64 (32 << 22). Only pages that it touches exist.
constexpr size_t kBufferBytes = size_t{256} << 20;
constexpr size_t kHeaderBytes = 4096;

/// The start of a mapping; the buffer follows after kHeaderBytes.
struct BufferHeader {
  std::atomic<bool> is_used;
  bool is_kept;  // belongs to a thread and is used again
};

void* buffer_of(BufferHeader* header) { return reinterpret_cast<char*>(header) + kHeaderBytes; }
BufferHeader* header_of(void* buffer) {
  return reinterpret_cast<BufferHeader*>(static_cast<char*>(buffer) - kHeaderBytes);
}

BufferHeader* map_buffer(bool is_kept) {
  void* memory = mmap(nullptr, kHeaderBytes + kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return new (memory) BufferHeader{{false}, is_kept};
}
void unmap_buffer(BufferHeader* header) { munmap(header, kHeaderBytes + kBufferBytes); }

/// The buffer that a thread keeps.
struct ThreadBuffer {
  BufferHeader* header = nullptr;
  bool was_asked = false;

  ~ThreadBuffer() {
    if (header != nullptr) unmap_buffer(header);
    header = nullptr;
  }
};
thread_local ThreadBuffer thread_buffer;

}  // namespace
}  // namespace ebb::kernels::cpu

/// Replaces OpenBLAS's own function. Null only where there is no address space left, and that was
/// checked before the call.
extern "C" EBB_API void* blas_memory_alloc(int) {
  using namespace ebb::kernels::cpu;  // NOLINT: the function itself cannot be in a namespace
  ThreadBuffer& own = thread_buffer;
  own.was_asked = true;
  if (own.header == nullptr) own.header = map_buffer(true);
  BufferHeader* header = own.header;
  if (header == nullptr) return nullptr;
  // A function of OpenBLAS that calls another needs a second buffer for a while.
  if (header->is_used.exchange(true)) {
    header = map_buffer(false);
    if (header == nullptr) return nullptr;
  }
  return buffer_of(header);
}

extern "C" EBB_API void blas_memory_free(void* buffer) {
  using namespace ebb::kernels::cpu;  // NOLINT
  if (buffer == nullptr) return;
  BufferHeader* header = header_of(buffer);
  if (!header->is_kept) return unmap_buffer(header);
  header->is_used.store(false, std::memory_order_release);
}

namespace ebb::kernels::cpu {
namespace {

/// Whether OpenBLAS takes its buffers from us: multiplies two numbers and looks.
bool uses_our_buffers() {
  const std::complex<double> one = 1.0;
  std::complex<double> result = 0.0;
  thread_buffer.was_asked = false;
  cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, &one, &one, 1, &one, 1, &one,
              &result, 1);
  return thread_buffer.was_asked;
}

/// A product in BLAS's words. Nothing but what stored_operands() lets through may be passed on:
/// OpenBLAS prints a line about other arguments and leaves the result as it was.
struct BlasProduct {
  CBLAS_TRANSPOSE transpose_a, transpose_b;
  blasint m, n, k, lda, ldb, ldc;

  BlasProduct(const Gemm& g, const StoredOperands& stored)
      : transpose_a(transpose_of(stored.a)),
        transpose_b(transpose_of(stored.b)),
        m(static_cast<blasint>(g.m)),
        n(static_cast<blasint>(g.n)),
        k(static_cast<blasint>(g.k)),
        lda(static_cast<blasint>(stored.a.ld)),
        ldb(static_cast<blasint>(stored.b.ld)),
        ldc(static_cast<blasint>(row_step(g))) {}

  /// From one row of the result to the next.
  static int64_t row_step(const Gemm& g) { return g.m == 1 ? g.n : g.ldc; }

 private:
  static CBLAS_TRANSPOSE transpose_of(const StoredMatrix& matrix) {
    return matrix.is_turned ? CblasTrans : CblasNoTrans;
  }
};

template <typename T>
void call_blas(const Gemm& g, const StoredOperands& stored) {
  const BlasProduct p(g, stored);
  const T one = 1, factor = g.accumulate ? 1 : 0;
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemm(CblasRowMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, one,
                static_cast<const T*>(g.a.data), p.lda, static_cast<const T*>(g.b.data), p.ldb,
                factor, static_cast<T*>(g.c), p.ldc);
  } else if constexpr (std::is_same_v<T, double>) {
    cblas_dgemm(CblasRowMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, one,
                static_cast<const T*>(g.a.data), p.lda, static_cast<const T*>(g.b.data), p.ldb,
                factor, static_cast<T*>(g.c), p.ldc);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    cblas_cgemm(CblasRowMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, &one, g.a.data, p.lda,
                g.b.data, p.ldb, &factor, g.c, p.ldc);
  } else {
    cblas_zgemm(CblasRowMajor, p.transpose_a, p.transpose_b, p.m, p.n, p.k, &one, g.a.data, p.lda,
                g.b.data, p.ldb, &factor, g.c, p.ldc);
  }
}

/// A (or B transposed) times a vector: a quarter of the time that gemm takes for one column.
void call_gemv(const Gemm& g, const StoredOperands& stored) {
  const bool is_column = g.n == 1;
  const StoredMatrix& matrix = is_column ? stored.a : stored.b;
  const StoredMatrix& vector = is_column ? stored.b : stored.a;
  // As stored, row by row: what is transposed in the product is stored with its sides swapped.
  const bool is_turned = matrix.is_turned == is_column;
  const int64_t out_size = is_column ? g.m : g.n;
  const auto rows = static_cast<blasint>(is_turned ? g.k : out_size);
  const auto columns = static_cast<blasint>(is_turned ? out_size : g.k);
  // A column in lines of one element lies like a row that is turned.
  const int64_t step = vector.is_turned == is_column ? 1 : vector.ld;
  cblas_dgemv(CblasRowMajor, is_turned ? CblasTrans : CblasNoTrans, rows, columns, 1.0,
              static_cast<const double*>(is_column ? g.a.data : g.b.data),
              static_cast<blasint>(matrix.ld),
              static_cast<const double*>(is_column ? g.b.data : g.a.data),
              static_cast<blasint>(step), g.accumulate ? 1.0 : 0.0, static_cast<double*>(g.c),
              static_cast<blasint>(is_column ? BlasProduct::row_step(g) : 1));
}

}  // namespace

BlasCall::BlasCall(const char* op) {
  static const bool is_safe = uses_our_buffers();
  static std::mutex mutex;
  if (!is_safe) {
    turn_ = std::unique_lock(mutex);
    return;
  }
  if (thread_buffer.header == nullptr) thread_buffer.header = map_buffer(true);
  if (thread_buffer.header == nullptr) {
    throw OutOfMemoryError(str(op, ": needs address space for a packing buffer, got none"));
  }
}

void openblas_gemm(DType dtype, const Gemm& g) {
  const StoredOperands stored = stored_operands(g);
  const int64_t largest = std::max({g.m, g.n, g.k, g.ldc, stored.a.ld, stored.b.ld});
  if (largest > std::numeric_limits<blasint>::max()) {
    throw NotImplementedError(
        str("matmul: OpenBLAS needs sizes and strides below 2^31, got ", largest));
  }
  const BlasCall call("matmul");
  switch (dtype) {
    case DType::float32: return call_blas<float>(g, stored);
    case DType::float64:
      return g.n == 1 || g.m == 1 ? call_gemv(g, stored) : call_blas<double>(g, stored);
    case DType::complex64: return call_blas<std::complex<float>>(g, stored);
    default: return call_blas<std::complex<double>>(g, stored);
  }
}

}  // namespace ebb::kernels::cpu
