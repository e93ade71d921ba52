// tests/devices/cuda/nvrtc.cpp -- the functions of libnvrtc, over the C++ compiler; and,
// where STAND_IN_NVRTC names it, over the true one beside it. See stand_in.h.
#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/devices/cuda/stand_in.h"

namespace {

constexpr int kArchitectures[] = {75, 80, 86, 89, 90};

struct Program {
  std::string source;
  std::string image;
  std::string log;
};
Program& of(nvrtcProgram handle) { return *reinterpret_cast<Program*>(handle); }

/// The true compiler, for what it says of a source.
class TrueCompiler {
 public:
  explicit TrueCompiler(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
  bool is_there() const { return library_ != nullptr; }

  /// Appends its log; false if it refuses the source.
  bool try_it(const Program& program, const char* target, std::vector<const char*> options,
              std::string* log) const {
    for (const char*& option : options) {
      if (std::strncmp(option, "--gpu-architecture=", 19) == 0) option = target;
    }
    nvrtcProgram own = nullptr;
    if (call<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram")(
            &own, program.source.c_str(), "ebb.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
      return false;
    }
    const nvrtcResult status = call<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram")(
        own, static_cast<int>(options.size()), options.data());
    size_t size = 0;
    call<decltype(nvrtcGetProgramLogSize)>("nvrtcGetProgramLogSize")(own, &size);
    std::string said(size, 0);
    call<decltype(nvrtcGetProgramLog)>("nvrtcGetProgramLog")(own, said.data());
    call<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram")(&own);
    said.resize(std::strlen(said.c_str()));
    if (!said.empty()) {
      *log += std::string(target) + ": " + said;
      stand_in::violate(*log);
    }
    return status == NVRTC_SUCCESS;
  }

 private:
  template <typename Function>
  Function* call(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  void* library_;
};

bool passes_true_compiler(Program& program, const std::vector<const char*>& options) {
  const char* const path = std::getenv("STAND_IN_NVRTC");
  if (path == nullptr || *path == 0) return true;
  static const TrueCompiler compiler(path);
  if (!compiler.is_there()) {
    program.log += "STAND_IN_NVRTC: cannot be opened";
    return false;
  }
  for (const char* target : {"--gpu-architecture=sm_80", "--gpu-architecture=sm_90"}) {
    ++stand_in::state().calls[target];
    if (!compiler.try_it(program, target, options, &program.log)) return false;
  }
  return true;
}

nvrtcResult give(const std::string& text, char* out) {
  std::memcpy(out, text.data(), text.size());
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult status) {
  return status == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(kArchitectures));
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* all) {
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), all);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* handle, const char* source, const char*, int,
                               const char* const*, const char* const*) {
  *handle = reinterpret_cast<nvrtcProgram>(new Program{source, {}, {}});
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* handle) {
  delete &of(*handle);
  *handle = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char* const* options) {
  const std::lock_guard lock(stand_in::state().mutex);
  Program& program = of(handle);
  if (stand_in::enter("nvrtcCompileProgram") != CUDA_SUCCESS) {
    program.log = "a failure that was asked for";
    return NVRTC_ERROR_COMPILATION;
  }
  const bool is_good = passes_true_compiler(program, {options, options + count}) &&
                       stand_in::compile_for_host(program.source, &program.image, &program.log);
  return is_good ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t* size) {
  *size = of(handle).log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* log) {
  std::strcpy(log, of(handle).log.c_str());
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t* size) {
  *size = of(handle).image.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* code) { return give(of(handle).image, code); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t* size) {
  return nvrtcGetCUBINSize(handle, size);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char* text) { return nvrtcGetCUBIN(handle, text); }

}  // extern "C"
