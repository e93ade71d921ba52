// ebb/devices/cuda/compiler.cpp -- opens NVRTC and runs it.
#include "ebb/devices/cuda/compiler.h"

#include <nvrtc.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "ebb/core/base/log.h"
#include "ebb/core/base/str.h"
#include "ebb/devices/cuda/api.h"

namespace ebb::cuda {
namespace {

#define EBB_NVRTC_FUNCTIONS(use)                                                       \
  use(nvrtcVersion) use(nvrtcGetErrorString) use(nvrtcGetNumSupportedArchs)            \
      use(nvrtcGetSupportedArchs) use(nvrtcCreateProgram) use(nvrtcCompileProgram)     \
          use(nvrtcDestroyProgram) use(nvrtcGetProgramLogSize) use(nvrtcGetProgramLog) \
              use(nvrtcGetCUBINSize) use(nvrtcGetCUBIN) use(nvrtcGetPTXSize) use(nvrtcGetPTX)

struct Nvrtc {
#define EBB_MEMBER(name) decltype(&::name) name = nullptr;
  EBB_NVRTC_FUNCTIONS(EBB_MEMBER)
#undef EBB_MEMBER
  int major = 0;
  int minor = 0;
  std::vector<int> targets;  // 90 for compute capability 9.0; ascending
};

std::optional<Nvrtc> load() {
  void* const library =
      open_library("nvrtc_library", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                     "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
  if (library == nullptr) return std::nullopt;
  Nvrtc found;
  FunctionFinder find(library);
#define EBB_FIND(name) find(found.name, #name);
  EBB_NVRTC_FUNCTIONS(EBB_FIND)
#undef EBB_FIND
  int count = 0;
  if (find.missing() != nullptr ||
      found.nvrtcVersion(&found.major, &found.minor) != NVRTC_SUCCESS ||
      found.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS) {
    return std::nullopt;
  }
  found.targets.resize(static_cast<size_t>(count));
  if (found.nvrtcGetSupportedArchs(found.targets.data()) != NVRTC_SUCCESS) return std::nullopt;
  std::sort(found.targets.begin(), found.targets.end());
  return found;
}

const Nvrtc& nvrtc() {
  static const std::optional<Nvrtc> found = load();
  if (!found.has_value()) {
    throw Failure(
        "no compiler of CUDA: needs libnvrtc of version 11.2 or later, got none"
        "\nhint: install the CUDA toolkit, or set EBB_NVRTC_LIBRARY to the file");
  }
  return *found;
}

void check(nvrtcResult status, const char* call) {
  if (status != NVRTC_SUCCESS) {
    throw Failure(str(call, ": ", nvrtc().nvrtcGetErrorString(status)));
  }
}

/// Owns one program.
class Program {
 public:
  explicit Program(const std::string& source) {
    check(nvrtc().nvrtcCreateProgram(&program_, source.c_str(), "ebb.cu", 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  }
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  nvrtcProgram get() const { return program_; }

 private:
  nvrtcProgram program_ = nullptr;
};

/// The last one that the compiler knows and the device runs; code for it if it is the device's own.
struct Chosen {
  int target = 0;
  bool is_code = false;
};
Chosen choose(Target wanted) {
  const int own = wanted.major * 10 + wanted.minor;
  const std::vector<int>& all = nvrtc().targets;
  const auto above = std::upper_bound(all.begin(), all.end(), own);
  if (above == all.begin()) {
    throw Failure(str("the compiler of CUDA ", nvrtc().major, '.', nvrtc().minor,
                      " no longer knows devices of compute capability ", wanted.major, '.',
                      wanted.minor));
  }
  return {*(above - 1), *(above - 1) == own};
}

std::vector<std::string> options_for(Target wanted) {
  const Chosen chosen = choose(wanted);
  return {str("--gpu-architecture=", chosen.is_code ? "sm_" : "compute_", chosen.target),
          "--std=c++17", wanted.may_fuse ? "--fmad=true" : "--fmad=false"};
}

/// What a pair of functions says of a program: its length, then its bytes.
std::string bytes_of(nvrtcProgram program, decltype(&nvrtcGetPTXSize) size_of,
                     decltype(&nvrtcGetPTX) get, const char* call) {
  size_t size = 0;
  check(size_of(program, &size), call);
  std::string bytes(size, 0);
  check(get(program, bytes.data()), call);
  return bytes;
}

std::string log_of(nvrtcProgram program) {
  std::string log = bytes_of(program, nvrtc().nvrtcGetProgramLogSize, nvrtc().nvrtcGetProgramLog,
                             "nvrtcGetProgramLog");
  while (!log.empty() && (log.back() == 0 || log.back() == '\n')) log.pop_back();
  constexpr size_t kMost = 2000;
  return log.substr(0, kMost);
}

}  // namespace

std::string compiler_key(Target target) {
  std::string key = str("nvrtc ", nvrtc().major, '.', nvrtc().minor);
  for (const std::string& option : options_for(target)) key += str(' ', option);
  return key;
}

std::string compile_program(const char* op, const std::string& source, Target target) {
  const std::vector<std::string> options = options_for(target);
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const Program program(source);
  const nvrtcResult status =
      nvrtc().nvrtcCompileProgram(program.get(), static_cast<int>(texts.size()), texts.data());
  const std::string log = log_of(program.get());
  if (status != NVRTC_SUCCESS) {
    throw Failure(str("nvrtcCompileProgram: ", nvrtc().nvrtcGetErrorString(status), '\n', log));
  }
  if (!log.empty()) EBB_LOG_AT(LogPart::general, 1, str(op, ": nvrtcCompileProgram: ", log));
  if (choose(target).is_code) {
    return bytes_of(program.get(), nvrtc().nvrtcGetCUBINSize, nvrtc().nvrtcGetCUBIN,
                    "nvrtcGetCUBIN");
  }
  return bytes_of(program.get(), nvrtc().nvrtcGetPTXSize, nvrtc().nvrtcGetPTX, "nvrtcGetPTX");
}

}  // namespace ebb::cuda
