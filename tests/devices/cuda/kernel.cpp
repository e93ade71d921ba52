// tests/devices/cuda/kernel.cpp -- kernels on the host: compiled by the C++ compiler, run
// an item after the other; at a barrier the next item has its turn. See stand_in.h.
#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>

#include "tests/devices/cuda/stand_in.h"

namespace stand_in {
namespace {

constexpr char kMagic[] = "ebb stand-in image";
constexpr size_t kHead = sizeof kMagic + sizeof(uint64_t);

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder that goes when the scope ends.
class Folder {
 public:
  Folder() { ok_ = mkdtemp(name_) != nullptr; }
  ~Folder() { (void)!std::system(("rm -rf " + std::string(name_)).c_str()); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return std::string(name_) + "/" + name; }

 private:
  char name_[32] = "/tmp/ebb_stand_in_XXXXXX";
  bool ok_ = false;
};

/// What make_launch() looks for beside the kernel itself.
std::string glue_of(const std::string& entry) {
  return "\nextern \"C\" void* stand_in_keep(void** places, void (*check)(const void*)) {\n"
         "  return keep(&" +
         entry +
         ", places, check);\n}\n"
         "extern \"C\" void stand_in_run(void* kept) { run(&" +
         entry +
         ", kept); }\n"
         "extern \"C\" void stand_in_drop(void* kept) { drop(&" +
         entry +
         ", kept); }\n"
         "extern \"C\" Place* stand_in_place(int which) {\n"
         "  return which == 0 ? &threadIdx : which == 1 ? &blockIdx\n"
         "                                 : which == 2 ? &blockDim : &gridDim;\n}\n"
         "extern \"C\" void stand_in_barrier(void (*wait)()) { at_barrier = wait; }\n";
}

struct Place {
  unsigned x, y, z;
};

/// The functions of the glue in one kernel's library.
struct Glue {
  explicit Glue(void* library)
      : keep(find<void*(void**, void (*)(const void*))>(library, "stand_in_keep")),
        run(find<void(void*)>(library, "stand_in_run")),
        drop(find<void(void*)>(library, "stand_in_drop")),
        place(find<Place*(int)>(library, "stand_in_place")),
        set_barrier(find<void(void (*)())>(library, "stand_in_barrier")) {}
  template <typename Function>
  static Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
  void* (*keep)(void**, void (*)(const void*));
  void (*run)(void*);
  void (*drop)(void*);
  Place* (*place)(int);
  void (*set_barrier)(void (*)());
};

/// Null is for what a kernel does not look at; one that does crashes here, too.
void check_pointer(const void* pointer) {
  if (pointer == nullptr) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = state().memory.upper_bound(address);
  if (next != state().memory.begin() && address < (--next)->first + next->second.bytes) return;
  violate("cuLaunchKernel: an argument points at no live block");
}

// --- items that wait for each other ---

constexpr size_t kStack = 64 << 10;

struct Item {
  ucontext_t context{};
  bool is_done = false;
};
struct Group {
  std::vector<std::unique_ptr<Item>> items;
  std::vector<char> stacks;
  ucontext_t scheduler{};
  Item* current = nullptr;
  const Glue* glue = nullptr;
  void* kept = nullptr;
};
Group* running = nullptr;  // the stand-in runs one at a time, under its lock

void wait_at_barrier() { swapcontext(&running->current->context, &running->scheduler); }
void run_item() {
  running->glue->run(running->kept);
  running->current->is_done = true;
  swapcontext(&running->current->context, &running->scheduler);
}

std::unique_ptr<Item> make_item(char* stack) {
  auto item = std::make_unique<Item>();
  getcontext(&item->context);
  item->context.uc_stack.ss_sp = stack;
  item->context.uc_stack.ss_size = kStack;
  makecontext(&item->context, run_item, 0);
  return item;
}

void run_group(const Glue& glue, void* kept, unsigned items) {
  Group group;
  group.glue = &glue;
  group.kept = kept;
  group.stacks.resize(kStack * items);
  running = &group;
  for (unsigned index = 0; index < items; ++index) {
    group.items.push_back(make_item(group.stacks.data() + kStack * index));
  }
  for (size_t left = items; left > 0;) {
    for (unsigned index = 0; index < items; ++index) {
      Item& item = *group.items[index];
      if (item.is_done) continue;
      group.current = &item;
      glue.place(0)->x = index;
      swapcontext(&group.scheduler, &item.context);
      if (item.is_done) --left;
    }
  }
  running = nullptr;
}

void run_launch(const Glue& glue, void* kept, bool has_barriers, unsigned groups, unsigned items) {
  *glue.place(0) = {0, 0, 0};
  *glue.place(1) = {0, 0, 0};
  *glue.place(2) = {items, 1, 1};
  *glue.place(3) = {groups, 1, 1};
  glue.set_barrier(wait_at_barrier);
  for (unsigned group = 0; group < groups; ++group) {
    glue.place(1)->x = group;
    if (has_barriers) {
      run_group(glue, kept, items);
      continue;
    }
    for (unsigned item = 0; item < items; ++item) {
      glue.place(0)->x = item;
      glue.run(kept);
    }
  }
}

/// The text after "#define NAME ", which is the kernel's.
std::string entry_of(const std::string& source) {
  std::smatch found;
  const std::regex pattern("#define NAME (\\w+)");
  return std::regex_search(source, found, pattern) ? found[1].str() : std::string();
}
bool has_barriers(const std::string& source) {
  const size_t defined = source.find("EBB_BARRIER()");
  return defined != std::string::npos &&
         source.find("EBB_BARRIER()", defined + 1) != std::string::npos;
}

}  // namespace

bool compile_for_host(const std::string& source, std::string* image, std::string* log) {
  const Folder folder;
  const std::string text = folder.file("kernel.cpp");
  const std::string library = folder.file("kernel.so");
  const std::string said = folder.file("log");
  std::ofstream(text) << "#include \"" EBB_EMULATION "\"\n"
                      << source << glue_of(entry_of(source))
                      << "extern \"C\" const int stand_in_has_barriers = " << has_barriers(source)
                      << ";\n";
  const std::string command = EBB_CXX " -std=c++17 -O1 -w -ffp-contract=off -fPIC -shared -o " +
                              library + " " + text + " > " + said + " 2>&1";
  const bool is_good = std::system(command.c_str()) == 0;
  if (!is_good) {
    *log += read_file(said);
    return false;
  }
  const std::string code = read_file(library);
  const uint64_t size = code.size();
  image->assign(kMagic, sizeof kMagic);
  image->append(reinterpret_cast<const char*>(&size), sizeof size);
  *image += code;
  return true;
}

CUresult load_image(const void* image, Module* module) {
  const auto* const bytes = static_cast<const char*>(image);
  if (std::strncmp(bytes, kMagic, sizeof kMagic) != 0) return CUDA_ERROR_INVALID_IMAGE;
  uint64_t size = 0;
  std::memcpy(&size, bytes + sizeof kMagic, sizeof size);
  const Folder folder;
  const std::string file = folder.file("kernel.so");
  std::ofstream(file, std::ios::binary).write(bytes + kHead, static_cast<std::streamsize>(size));
  module->library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  return module->library != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

CUresult find_kernel(Module* module, const char* name, Kernel** kernel) {
  if (dlsym(module->library, name) == nullptr) return CUDA_ERROR_NOT_FOUND;
  const void* const flag = dlsym(module->library, "stand_in_has_barriers");
  *kernel = new Kernel{module, module->library, *static_cast<const int*>(flag) != 0};
  module->kernels.insert(*kernel);
  return CUDA_SUCCESS;
}

std::function<void()> make_launch(Kernel* kernel, unsigned groups, unsigned items, void** places) {
  const Glue glue(kernel->library);
  void* const kept = glue.keep(places, check_pointer);
  return [=, barriers = kernel->has_barriers] {
    run_launch(glue, kept, barriers, groups, items);
    glue.drop(kept);
  };
}

}  // namespace stand_in
