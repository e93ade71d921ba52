// ebb/kernels/cpu/gemm/onednn.h -- what every call of oneDNN needs: one thread, and our instruction
// set.
//
// oneDNN is built with OpenMP and would start threads of its own: each call is made with OpenMP's
// limit for the calling thread set to one, in which case it never enters a parallel region.
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>

namespace ebb::kernels::cpu {

/// Calls of oneDNN are made while one of these lives: it runs them on the calling thread only, and
/// the first one caps oneDNN's instruction set as EBB_ISA says.
class OneDnnScope {
 public:
  OneDnnScope();
  ~OneDnnScope();
  OneDnnScope(const OneDnnScope&) = delete;
  OneDnnScope& operator=(const OneDnnScope&) = delete;

 private:
  int before_;
};

const dnnl::engine& cpu_engine();
/// The calling thread's own.
dnnl::stream& thread_stream();

/// An array as oneDNN sees it.
dnnl::memory memory_at(const dnnl::memory::desc& desc, const void* data);
/// Scratch memory of so many bytes, perhaps none.
dnnl::memory scratch_at(void* data, size_t bytes);

}  // namespace ebb::kernels::cpu
