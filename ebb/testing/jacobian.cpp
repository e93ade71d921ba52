// ebb/testing/jacobian.cpp -- what gradcheck says when derivatives disagree.
//
// One line for machines and tests (the first wrong element), then the worst element and a map of
// the Jacobian, since which elements are wrong often tells what is wrong.
#include "ebb/testing/jacobian.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>

#include "ebb/core/base/error.h"

namespace ebb::testing {
namespace {

constexpr size_t kMapSize = 24;  // rows and columns shown

std::string element(const Comparison& pair, size_t position, const Tensor& out,
                    const Tensor& input) {
  const size_t columns = pair.analytical.columns;
  return str(pair.both(position), " at ", place_of(input, position % columns), " of the input and ",
             place_of(out, position / columns), " of the output");
}

std::string map_of(const Comparison& pair) {
  const size_t rows = pair.analytical.rows, columns = pair.analytical.columns;
  std::string map;
  for (size_t row = 0; row < std::min(rows, kMapSize); ++row) {
    map += "\n  ";
    for (size_t column = 0; column < std::min(columns, kMapSize); ++column) {
      map += pair.is_wrong(row, column) ? '#' : '.';
    }
    if (columns > kMapSize) map += "...";
  }
  return rows > kMapSize ? map + "\n  ..." : map;
}

}  // namespace

bool Comparison::is_wrong(size_t row, size_t column) const {
  const double a = analytical.at(row, column), n = numerical.at(row, column);
  return !(std::abs(a - n) <= atol + rtol * std::abs(n));
}

size_t Comparison::first_wrong() const {
  const size_t count = analytical.values.size();
  for (size_t position = 0; position < count; ++position) {
    if (is_wrong(position / analytical.columns, position % analytical.columns)) return position;
  }
  return count;
}

std::string Comparison::explain(const Tensor& out, const Tensor& input) const {
  const size_t total = analytical.values.size(), first = first_wrong();
  size_t worst = first, count = 0;
  double most = -1;
  for (size_t position = first; position < total; ++position) {
    if (!is_wrong(position / analytical.columns, position % analytical.columns)) continue;
    ++count;
    double off = std::abs(analytical.values[position] - numerical.values[position]);
    if (std::isnan(off)) off = std::numeric_limits<double>::infinity();
    if (!(off > most)) continue;
    most = off;
    worst = position;
  }
  std::string text = element(*this, first, out, input);
  if (worst != first) text += "\nworst: " + element(*this, worst, out, input);
  text += str("\nwrong: ", count, " of ", total, " elements");
  if (total == 1) return text;
  return text + "\nrows: output, columns: input, #: wrong" + map_of(*this);
}

std::string Comparison::both(size_t element) const {
  return str(std::setprecision(9), "analytical ", analytical.values[element], " and numerical ",
             numerical.values[element]);
}

}  // namespace ebb::testing
