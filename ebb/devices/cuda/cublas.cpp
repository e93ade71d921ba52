// ebb/devices/cuda/cublas.cpp -- opens cuBLAS, and says products in its terms.
//
// cuBLAS' matrices lie by columns. A matrix that lies by rows is its transpose to cuBLAS, so the
// result out = a b is asked for as out^T = b^T a^T.
#include "ebb/devices/cuda/cublas.h"

#include <cublas_v2.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "ebb/core/base/str.h"
#include "ebb/core/device/tf32.h"

namespace ebb::cuda {
namespace {

using devices::Operand;
using devices::Product;

// The header has older overloads of this one.
using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n,
                                int k, const void* alpha, const void* a, cudaDataType, int lda,
                                long long a_batch, const void* b, cudaDataType, int ldb,
                                long long b_batch, const void* beta, void* c, cudaDataType, int ldc,
                                long long c_batch, int batch, cublasComputeType_t,
                                cublasGemmAlgo_t);

struct Cublas {
  decltype(&::cublasCreate) create = nullptr;
  decltype(&::cublasDestroy) destroy = nullptr;
  decltype(&::cublasSetStream) set_stream = nullptr;
  decltype(&::cublasSetMathMode) set_math_mode = nullptr;
  decltype(&::cublasGetStatusString) text_of = nullptr;
  Gemm gemm = nullptr;
};

std::optional<Cublas> load() {
  void* const library =
      open_library("cublas_library", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                      "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"});
  if (library == nullptr) return std::nullopt;
  Cublas found;
  FunctionFinder find(library);
  find(found.create, "cublasCreate_v2");
  find(found.destroy, "cublasDestroy_v2");
  find(found.set_stream, "cublasSetStream_v2");
  find(found.set_math_mode, "cublasSetMathMode");
  find(found.text_of, "cublasGetStatusString");
  find(found.gemm, "cublasGemmStridedBatchedEx");
  return find.has_all("cuBLAS") ? std::optional(found) : std::nullopt;
}

const std::optional<Cublas>& cublas() {
  static const std::optional<Cublas> found = load();
  return found;
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Failure(str(call, ": ", cublas()->text_of(status),
                    "\nhint: with EBB_CUBLAS_LIBRARY=0 ebb's own kernels are used"));
}

void prepare(cublasHandle_t handle, const CudaStream& stream) {
  check(cublas()->set_stream(handle, stream.handle), "cublasSetStream");
  // Parts of a sum of half types are kept in float32 too.
  const int mode = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  check(cublas()->set_math_mode(handle, static_cast<cublasMath_t>(mode)), "cublasSetMathMode");
}

/// The stream's handle, made at its first product. Needs the device's context and the lock.
cublasHandle_t handle_of(CudaStream& stream) {
  if (stream.cublas != nullptr) return stream.cublas;
  cublasHandle_t made = nullptr;
  check(cublas()->create(&made), "cublasCreate");
  try {
    prepare(made, stream);
  } catch (const Failure&) {
    cublas()->destroy(made);
    throw;
  }
  stream.cublas = made;
  return made;
}

std::optional<cudaDataType> type_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return CUDA_R_16F;
    case DType::bfloat16: return CUDA_R_16BF;
    case DType::float32: return CUDA_R_32F;
    case DType::float64: return CUDA_R_64F;
    default: return std::nullopt;
  }
}

/// A matrix by rows as cuBLAS is to see its transpose: as it lies, or transposed once more.
struct Side {
  cublasOperation_t turn;
  int64_t lead;  // from one stored line to the next
};
std::optional<Side> side_of(const Operand& operand, int64_t rows, int64_t columns) {
  // Of a size of 1 the stride means nothing.
  const int64_t row = rows == 1 ? std::max<int64_t>(columns, 1) : operand.row;
  const int64_t column = columns == 1 ? std::max<int64_t>(rows, 1) : operand.column;
  if ((columns == 1 || column == 1) && row >= columns) return Side{CUBLAS_OP_N, row};
  if ((rows == 1 || row == 1) && column >= rows) return Side{CUBLAS_OP_T, column};
  return std::nullopt;
}
Side side_of_a(const Product& product) { return *side_of(product.a, product.m, product.k); }
Side side_of_b(const Product& product) { return *side_of(product.b, product.k, product.n); }

int64_t lead_of_out(const Product& product) { return product.m == 1 ? product.n : product.out_row; }

cublasComputeType_t compute_of(const Product& product) {
  if (product.out_dtype == DType::float64) return CUBLAS_COMPUTE_64F;
  const bool is_full = product.a.dtype == DType::float32;
  return is_full && is_tf32_allowed() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

}  // namespace

bool has_cublas() { return cublas().has_value(); }

bool cublas_takes(const Product& product) {
  const bool is_typed = type_of(product.a.dtype) && product.a.dtype == product.b.dtype &&
                        product.a.dtype == product.out_dtype;
  const std::optional<Side> a = side_of(product.a, product.m, product.k);
  const std::optional<Side> b = side_of(product.b, product.k, product.n);
  if (!is_typed || !a || !b) return false;
  const int64_t most = std::max(
      {product.m, product.n, product.k, product.batch, a->lead, b->lead, lead_of_out(product)});
  return most <= std::numeric_limits<int>::max();
}

void queue_by_cublas(CudaStream& stream, const Product& product) {
  const ContextScope scope(stream.device->context);
  const std::lock_guard lock(stream.library_mutex);
  const Side a = side_of_a(product), b = side_of_b(product);
  const bool is_double = product.out_dtype == DType::float64;
  const double wide[] = {1, product.accumulate ? 1.0 : 0.0};
  const float narrow[] = {1, product.accumulate ? 1.0f : 0.0f};
  const void* const alpha = is_double ? static_cast<const void*>(&wide[0]) : &narrow[0];
  const void* const beta = is_double ? static_cast<const void*>(&wide[1]) : &narrow[1];
  const cudaDataType type = *type_of(product.out_dtype);
  check(cublas()->gemm(handle_of(stream), b.turn, a.turn, static_cast<int>(product.n),
                       static_cast<int>(product.m), static_cast<int>(product.k), alpha,
                       product.b.data, type, static_cast<int>(b.lead), product.b.batch,
                       product.a.data, type, static_cast<int>(a.lead), product.a.batch, beta,
                       product.out, type, static_cast<int>(lead_of_out(product)), product.out_batch,
                       static_cast<int>(product.batch), compute_of(product), CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
}

}  // namespace ebb::cuda
