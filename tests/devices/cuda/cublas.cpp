// tests/devices/cuda/cublas.cpp -- the functions of cuBLAS that the plug-in calls. See
// stand_in.h.
//
// A product is computed in double from what its matrices hold when its turn on the stream comes,
// and rounded at its end; with CUBLAS_COMPUTE_32F_FAST_TF32 the factors are rounded first.
#include <cublas_v2.h>

#include <algorithm>

#include "tests/devices/cuda/numbers.h"
#include "tests/devices/cuda/stand_in.h"

using namespace stand_in;  // NOLINT: functions of C cannot be in a namespace

namespace {

/// What cublasHandle_t points at.
struct Handle {
  int device = 0;
  CUstream stream = nullptr;
  int math = CUBLAS_DEFAULT_MATH;
};

Handle* known(const char* call, cublasHandle_t handle) {
  auto* const own = reinterpret_cast<Handle*>(handle);
  if (state().library_objects.count(own) != 0) return own;
  violate(std::string(call) + ": no such handle");
  return nullptr;
}

Kind kind_of(cudaDataType type) {
  return type == CUDA_R_64F   ? Kind::f64
         : type == CUDA_R_32F ? Kind::f32
         : type == CUDA_R_16F ? Kind::f16
                              : Kind::bf16;
}

/// A matrix that lies by columns, of each of a batch.
struct Matrix {
  char* data;
  cudaDataType type;
  int lead;
  long long batch;
  bool is_turned;

  char* place(int row, int column, int number) const {
    const long long stored = is_turned ? static_cast<long long>(row) * lead + column
                                       : static_cast<long long>(column) * lead + row;
    return data + (number * batch + stored) * static_cast<long long>(item_size(kind_of(type)));
  }
};

/// The arguments of a call, which all have been read when it returns.
struct Call {
  int m, n, k, count;
  Matrix a, b, c;
  double alpha, beta;
  bool rounds_factors;

  double factor(const char* place, cudaDataType type) const {
    const double value = load(place, kind_of(type));
    return rounds_factors ? tf32(static_cast<float>(value)) : value;
  }
  void run() const {
    for (int number = 0; number < count; ++number) {
      for (int column = 0; column < n; ++column) {
        for (int row = 0; row < m; ++row) compute(row, column, number);
      }
    }
  }
  void compute(int row, int column, int number) const {
    double sum = 0;
    for (int step = 0; step < k; ++step) {
      sum += factor(a.place(row, step, number), a.type) *
             factor(b.place(step, column, number), b.type);
    }
    char* const place = c.place(row, column, number);
    const double before = beta == 0 ? 0 : beta * load(place, kind_of(c.type));  // 0 reads nothing
    store(place, kind_of(c.type), alpha * sum + before);
  }
};

/// Notes what no matrix may be: a line that overlaps the next, memory that is not there.
void check_matrix(const std::string& name, const Matrix& matrix, int rows, int columns, int count,
                  int device) {
  const int stored_rows = matrix.is_turned ? columns : rows;
  const int stored_columns = matrix.is_turned ? rows : columns;
  const std::string call = "cublasGemmStridedBatchedEx: " + name;
  if (matrix.lead < std::max(1, stored_rows)) violate(call + ": leading dimension");
  if (matrix.batch < 0) violate(call + ": stride");
  const char* const last =
      matrix.data + (matrix.batch * (count - 1) +
                     static_cast<long long>(matrix.lead) * (stored_columns - 1) + stored_rows) *
                        static_cast<long long>(item_size(kind_of(matrix.type)));
  need_range(call.c_str(), reinterpret_cast<CUdeviceptr>(matrix.data),
             static_cast<size_t>(last - matrix.data), device);
}

bool fits(cudaDataType type, cublasComputeType_t compute) {
  if (type == CUDA_R_64F) return compute == CUBLAS_COMPUTE_64F;
  if (type == CUDA_R_16F || type == CUDA_R_16BF) return compute == CUBLAS_COMPUTE_32F;
  return type == CUDA_R_32F &&
         (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32);
}

double number_at(const void* place, cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_64F ? *static_cast<const double*>(place)
                                       : *static_cast<const float*>(place);
}

}  // namespace

// Opens each function: holds the lock, counts the call, fails it if a test says so.
#define STAND_IN_CALL(name)                           \
  const std::lock_guard stand_in_lock(state().mutex); \
  if (const CUresult injected = enter(name)) return static_cast<cublasStatus_t>(injected)

extern "C" {

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  STAND_IN_CALL("cublasCreate");
  need_context("cublasCreate");
  auto* const own = new Handle();
  own->device = contexts().empty() ? 0 : contexts().back();
  state().library_objects.insert(own);
  *handle = reinterpret_cast<cublasHandle_t>(own);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  STAND_IN_CALL("cublasDestroy");
  Handle* const own = known("cublasDestroy", handle);
  if (own == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  state().library_objects.erase(own);
  delete own;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  STAND_IN_CALL("cublasSetStream");
  Handle* const own = known("cublasSetStream", handle);
  if (own == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  own->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  STAND_IN_CALL("cublasSetMathMode");
  Handle* const own = known("cublasSetMathMode", handle);
  if (own == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  own->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t turn_a,
                                          cublasOperation_t turn_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long a_batch, const void* b,
                                          cudaDataType b_type, int ldb, long long b_batch,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long c_batch, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm) {
  const char* const name = "cublasGemmStridedBatchedEx";
  STAND_IN_CALL(name);
  Handle* const own = known(name, handle);
  if (own == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto matrix = [](const void* data, cudaDataType type, int lead, long long batch,
                         cublasOperation_t turn) {
    return Matrix{static_cast<char*>(const_cast<void*>(data)), type, lead, batch,
                  turn == CUBLAS_OP_T};
  };
  const Call call{m,
                  n,
                  k,
                  count,
                  matrix(a, a_type, lda, a_batch, turn_a),
                  matrix(b, b_type, ldb, b_batch, turn_b),
                  matrix(c, c_type, ldc, c_batch, CUBLAS_OP_N),
                  number_at(alpha, compute),
                  number_at(beta, compute),
                  compute == CUBLAS_COMPUTE_32F_FAST_TF32};
  if (m < 1 || n < 1 || k < 1 || count < 1 || a_type != b_type || a_type != c_type ||
      !fits(c_type, compute) || algorithm != CUBLAS_GEMM_DEFAULT || turn_a == CUBLAS_OP_C ||
      turn_b == CUBLAS_OP_C) {
    violate("cublasGemmStridedBatchedEx: sizes, types or operations");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (own->math != (CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)) {
    violate("cublasGemmStridedBatchedEx: parts of sums may be rounded");
  }
  check_matrix("a", call.a, m, k, count, own->device);
  check_matrix("b", call.b, k, n, count, own->device);
  check_matrix("c", call.c, m, n, count, own->device);
  if (queue(name, own->stream, [=] { call.run(); }) != CUDA_SUCCESS) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
