// ebb/devices/cuda/api.cpp -- opens the driver's library.
#include "ebb/devices/cuda/api.h"

#include <optional>

#include "ebb/core/base/flags.h"
#include "ebb/core/base/log.h"
#include "ebb/core/base/str.h"

namespace ebb::cuda {
namespace {

#define EBB_TEXT_(name) #name
#define EBB_TEXT(name) EBB_TEXT_(name)

std::optional<Api> load_api() {
  std::string path(flag_in_environment("cuda_library"));
  if (path.empty()) path = "libcuda.so.1";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open
  if (library == nullptr) return std::nullopt;
  Api found;
  FunctionFinder find(library);
#define EBB_FIND(name) find(found.name, EBB_TEXT(name));
  EBB_CUDA_FUNCTIONS(EBB_FIND)
#undef EBB_FIND
  return find.has_all(path) ? std::optional(found) : std::nullopt;
}

}  // namespace

void* open_library(std::string_view flag, std::initializer_list<const char*> files) {
  const std::string path(flag_in_environment(flag));
  if (path == "0") return nullptr;
  if (!path.empty()) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* file : files) {
    if (void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

bool FunctionFinder::has_all(std::string_view library) const {
  if (missing_ == nullptr) return true;
  EBB_LOG_AT(LogPart::general, 1,
             str("cuda: ", library, " is not used: it has no function ", missing_));
  return false;
}

const Api* find_api() {
  static const std::optional<Api> found = load_api();
  return found.has_value() ? &*found : nullptr;
}

const Api& api() {
  const Api* const found = find_api();
  if (found == nullptr) throw Failure("no driver of CUDA: libcuda.so.1 is missing, or too old");
  return *found;
}

namespace {

/// "CUDA_ERROR_OUT_OF_MEMORY: out of memory", or the number.
std::string text_of_status(CUresult status) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api().cuGetErrorName(status, &name) != CUDA_SUCCESS || name == nullptr) {
    return str("CUDA error ", static_cast<int>(status));
  }
  if (api().cuGetErrorString(status, &text) != CUDA_SUCCESS || text == nullptr) return name;
  return str(name, ": ", text);
}

}  // namespace

void check(CUresult status, const char* call) {
  if (status != CUDA_SUCCESS) throw Failure(str(call, ": ", text_of_status(status)));
}

}  // namespace ebb::cuda
