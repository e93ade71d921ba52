// ebb/kernels/cpu/fft/plan.h -- what a transform of one length needs: its factors and its tables.
//
// A length is cut into passes of small radices (8, 4, 2, 3, 5, other primes up to kLargestRadix). A
// length with a larger prime becomes a convolution of a smooth length (Bluestein). A long line is
// also cut into rows and columns, so that one line alone fills all lanes and stays in the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ebb/core/runtime/counted_vector.h"

namespace ebb::kernels::cpu {

constexpr int64_t kLargestRadix = 31;
constexpr int64_t kTurnColumns = 16;  // as many as the lanes of the widest vector of float32

struct FftPass {
  int64_t radix;
  int64_t before;   // the product of the radices of the passes before
  int64_t after;    // that of those behind
  size_t twiddles;  // where its numbers begin: (radix - 1) for each place below `after`
  size_t roots;     // where the roots of unity of a pass for any radix begin
};

/// Complex numbers lie as pairs (real, imaginary). All roots are those of a forward transform.
template <typename T>
struct FftPlan {
  explicit FftPlan(int64_t size);

  int64_t length;
  std::vector<FftPass> passes;  // none for Bluestein
  CountedVector<T> twiddles;

  // What column j gets at row k between the transforms of columns (`rows` long) and rows (`columns`
  // long): blocks of kTurnColumns columns, in each for each row all real parts and then all
  // imaginary ones. 0 rows if the length is not cut.
  int64_t rows = 0, columns = 0;
  CountedVector<T> turns;
  std::shared_ptr<const FftPlan> of_columns, of_rows;

  // Bluestein: a chirp, and the spectrum of its conjugate, divided by that length.
  std::shared_ptr<const FftPlan> padded;
  CountedVector<T> chirp, spectrum;

  // The roots of order 2 * length, up to the one that is -1: for twice as many real numbers.
  CountedVector<T> real_turns;

  /// For how many complex numbers a line needs room, twice.
  int64_t room() const { return padded == nullptr ? length : padded->length; }
  size_t bytes() const;

 private:
  void add_passes();
  void add_rows();
  void add_real_turns();
  void add_chirp();
};

/// The plan of a length, kept for later calls as long as all plans take at most kPlanBytes.
template <typename T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t length);
constexpr size_t kPlanBytes = size_t{64} << 20;

}  // namespace ebb::kernels::cpu
