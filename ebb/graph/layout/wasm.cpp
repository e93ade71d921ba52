// ebb/graph/layout/wasm.cpp -- the layout as the page sees it: memory, arguments, columns.
//
// Compiled only by clang for wasm32, without a C library (cmake/EbbWasm.cmake). What is allocated
// lies in pieces of a power of two bytes, with its power in front; a freed piece is used again by
// the next of its size. python/ebb/viz/page/kernel.js calls what is exported here.
#include "ebb/graph/layout/columns.h"
#include "ebb/graph/layout/constants.h"
#include "ebb/graph/layout/layout.h"
#include "ebb/graph/layout/loops.h"

extern "C" unsigned char __heap_base;  // the linker's name for where free memory begins

namespace {

constexpr unsigned long kPage = 65536;
constexpr unsigned long kFront = 8;

struct Free {
  Free* next;
};
Free* free_pieces[32];
unsigned long next_byte = 0;

/// A piece of 2^power bytes that was never used; the page's tab ends if there is no memory left.
void* fresh(unsigned power) {
  if (next_byte == 0) next_byte = (reinterpret_cast<unsigned long>(&__heap_base) + 15) & ~15UL;
  void* const piece = reinterpret_cast<void*>(next_byte);
  next_byte += 1UL << power;
  const unsigned long pages = (next_byte + kPage - 1) / kPage;
  const unsigned long had = __builtin_wasm_memory_size(0);
  if (pages > had && __builtin_wasm_memory_grow(0, pages - had) == ~0UL) __builtin_trap();
  return piece;
}

}  // namespace

void* operator new(unsigned long bytes) {
  const unsigned long all = bytes + kFront;
  if (all > 1UL << 30) __builtin_trap();
  const unsigned power = 32U - static_cast<unsigned>(__builtin_clzl(all - 1));
  void* piece = free_pieces[power];
  if (piece != nullptr) {
    free_pieces[power] = free_pieces[power]->next;
  } else {
    piece = fresh(power);
  }
  *static_cast<unsigned*>(piece) = power;
  return static_cast<unsigned char*>(piece) + kFront;
}

void operator delete(void* data) noexcept {
  if (data == nullptr) return;
  void* const piece = static_cast<unsigned char*>(data) - kFront;
  const unsigned power = *static_cast<unsigned*>(piece);
  Free* const freed = static_cast<Free*>(piece);
  freed->next = free_pieces[power];
  free_pieces[power] = freed;
}

namespace {

using namespace ebb::layout;

Layout* layout = nullptr;
Array<int> loops;

struct Column {
  const char* name = nullptr;
  const void* data = nullptr;
  int length = 0;
  int bytes = 0;
};

/// Column `wanted` of the layout; no name after the last one.
Column column(int wanted) {
  Column found;
  each_column(layout->places(), [&](const char* name, const auto& values) {
    if (wanted-- == 0) found = {name, values.data(), values.size(), sizeof(values[0])};
  });
  return found;
}

}  // namespace

[[clang::export_name("allocate")]] void* allocate(int bytes) {
  return ::operator new(static_cast<unsigned long>(bytes));
}
[[clang::export_name("release")]] void release(void* data) { ::operator delete(data); }

[[clang::export_name("begin")]] void begin(int items, const int* parent, const uint8_t* is_frame,
                                           const double* rank, const double* width,
                                           const double* height, int edges, const int* from,
                                           const int* to) {
  delete layout;
  layout = new Layout({{parent, items},
                       {is_frame, items},
                       {rank, items},
                       {width, items},
                       {height, items},
                       {from, edges},
                       {to, edges}});
}
[[clang::export_name("header")]] double header() { return kHeader; }
[[clang::export_name("step")]] int step() { return layout->step() ? 1 : 0; }
[[clang::export_name("end")]] void end() {
  delete layout;
  layout = nullptr;
}

[[clang::export_name("columnName")]] const char* column_name(int wanted) {
  return column(wanted).name;
}
[[clang::export_name("columnData")]] const void* column_data(int wanted) {
  return column(wanted).data;
}
[[clang::export_name("columnLength")]] int column_length(int wanted) {
  return column(wanted).length;
}
[[clang::export_name("columnBytes")]] int column_bytes(int wanted) { return column(wanted).bytes; }

[[clang::export_name("findLoops")]] int find_loops(int ops, const int* symbols, const int* start,
                                                   int wires, const int* input, const int* maker,
                                                   int least_ops) {
  loops = ebb::layout::find_loops(
      {{symbols, ops}, {start, ops + 1}, {input, wires}, {maker, wires}, least_ops});
  return loops.size();
}
[[clang::export_name("loopData")]] const int* loop_data() { return loops.data(); }
