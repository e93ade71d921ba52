// tools/mutate/mutants.h -- which mutant is active in this process, and which were reached.
//
// Broken copies of sources in build/ include this, nothing else: no release has it. EBB_MUTANT=17
// in the environment activates a mutant, EBB_MUTANTS_REACHED names a file to which a process adds,
// when it ends, a byte for each number: 1 if the expression was evaluated.
#pragma once

#include <cstdio>
#include <cstdlib>

struct EbbMutants {
  int active;  // -1: not read yet
  unsigned char reached[8192];
};
// One in a process, whichever library asks.
extern "C" {
inline __attribute__((visibility("default"))) EbbMutants ebb_mutants = {-1, {}};
}

inline void ebb_write_reached() {
  std::FILE* const file = std::fopen(std::getenv("EBB_MUTANTS_REACHED"), "ab");
  if (file == nullptr) return;
  std::fwrite(ebb_mutants.reached, 1, sizeof(ebb_mutants.reached), file);
  std::fclose(file);
}

inline void ebb_read_mutant() {
  const char* const text = std::getenv("EBB_MUTANT");
  __atomic_store_n(&ebb_mutants.active, text == nullptr ? 0 : std::atoi(text), __ATOMIC_RELAXED);
  if (std::getenv("EBB_MUTANTS_REACHED") != nullptr) std::atexit(ebb_write_reached);
}

inline bool ebb_is_mutant(int id) {
  if (__atomic_load_n(&ebb_mutants.active, __ATOMIC_RELAXED) < 0) ebb_read_mutant();
  __atomic_store_n(&ebb_mutants.reached[id], 1, __ATOMIC_RELAXED);
  return __atomic_load_n(&ebb_mutants.active, __ATOMIC_RELAXED) == id;
}

#define EBB_MUTANT(id) (!__builtin_is_constant_evaluated() && ::ebb_is_mutant(id))
