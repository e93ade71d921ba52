// ebb/devices/kernels/prelude.cl -- the common dialect in OpenCL C 1.2; its twin is prelude.cu.
//
// What both define: EBB_KERNEL(name) EBB_FUNCTION EBB_GLOBAL EBB_LOCAL, the place of a work item
// (EBB_ITEM over all, EBB_LOCAL_ITEM in its group, EBB_GROUP), EBB_BARRIER, the storage types b8 u8
// .. f64 and the integers u32 i64 ... EBB_FLOAT64 is defined where the device has doubles.
// EBB_FUSED begins a block in which a product and a sum may be rounded as one. EBB_STEPS_ALONE before
// a loop: no step reads what another one writes.
#ifdef EBB_FLOAT64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

#define EBB_KERNEL(name) \
  __kernel __attribute__((reqd_work_group_size(EBB_GROUP_SIZE, 1, 1))) void name
#define EBB_FUNCTION static inline
#define EBB_GLOBAL __global
#define EBB_LOCAL __local
#define EBB_ITEM() get_global_id(0)
#define EBB_LOCAL_ITEM() get_local_id(0)
#define EBB_GROUP() get_group_id(0)
#define EBB_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define EBB_FUSED _Pragma("OPENCL FP_CONTRACT ON")
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"  // a loop that stays as it is needs no warning
#define EBB_STEPS_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define EBB_STEPS_ALONE
#endif

typedef uchar b8;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef ushort f16;
typedef ushort bf16;
typedef float f32;
#ifdef EBB_FLOAT64
typedef double f64;
#endif

EBB_FUNCTION u32 bits_of_float(float value) { return as_uint(value); }
EBB_FUNCTION float float_of_bits(u32 bits) { return as_float(bits); }
