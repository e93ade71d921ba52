// ebb/kernels/cpu/gemm/onednn.h -- what every call of oneDNN needs: one thread, our instruction
// set, and no signals.
//
// oneDNN is built with OpenMP and would start threads of its own: each call is made with OpenMP's
// limit for the calling thread set to one, in which case it never enters a parallel region.
//
// Its products of float32 matrices for AVX and AVX-512 move the stack pointer into a workspace on
// the heap, where a handler would write: signals wait until the call ends. A primitive runs on the
// stream of a OneDnnScope, so that no call is made without one.
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>

#include "ebb/core/runtime/library_call.h"
#include "ebb/core/runtime/signal_shield.h"

namespace ebb::kernels::cpu {

/// Calls of oneDNN are made while one of these lives: it runs them on the calling thread only, and
/// the first one caps oneDNN's instruction set as EBB_ISA says.
class OneDnnScope {
 public:
  /// Calls whose kernels keep to the thread's own stack, and take less time than a shield does, may
  /// do without one. docs/gemm.md says how that was found.
  explicit OneDnnScope(SignalShield::Kind shield = SignalShield::Kind::all);
  ~OneDnnScope();
  OneDnnScope(const OneDnnScope&) = delete;
  OneDnnScope& operator=(const OneDnnScope&) = delete;

  /// The calling thread's own.
  dnnl::stream& stream() const;

 private:
  LibraryCall call_;
  SignalShield shield_;
  int before_;
};

const dnnl::engine& cpu_engine();

/// An array as oneDNN sees it.
dnnl::memory memory_at(const dnnl::memory::desc& desc, const void* data);
/// Scratch memory of so many bytes, perhaps none.
dnnl::memory scratch_at(void* data, size_t bytes);

}  // namespace ebb::kernels::cpu
