// ebb/devices/kernels/prelude.cu -- the common dialect in CUDA C++; its twin is prelude.cl.
//
// Compiled by NVRTC, which reads no header.
#pragma nv_diag_suppress 177  // a specialisation does not use every function and variable
#pragma nv_diag_suppress 186  // and may compare numbers without sign with 0
#define EBB_KERNEL(name) extern "C" __global__ void __launch_bounds__(EBB_GROUP_SIZE) name
#define EBB_FUNCTION static __device__ inline
#define EBB_GLOBAL
#define EBB_LOCAL __shared__
#define EBB_ITEM() ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define EBB_LOCAL_ITEM() threadIdx.x
#define EBB_GROUP() blockIdx.x
#define EBB_BARRIER() __syncthreads()
#define EBB_FUSED  // the compiler's own way
#define EBB_STEPS_ALONE
#define EBB_FLOAT64

typedef unsigned char b8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned short f16;
typedef unsigned short bf16;
typedef float f32;
typedef double f64;

#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)

EBB_FUNCTION u32 bits_of_float(float value) { return __float_as_uint(value); }
EBB_FUNCTION float float_of_bits(u32 bits) { return __uint_as_float(bits); }
