// ebb/kernels/cpu/fft/plan.cpp -- factors, roots of unity, and the plans that are kept.
#include "ebb/kernels/cpu/fft/plan.h"

#include <cmath>
#include <complex>
#include <mutex>
#include <numbers>
#include <unordered_map>

namespace ebb::kernels::cpu {
namespace {

using Complex = std::complex<double>;

template <typename T>
void append(CountedVector<T>& numbers, Complex number) {
  numbers.push_back(static_cast<T>(number.real()));
  numbers.push_back(static_cast<T>(number.imag()));
}

/// Element k of the roots of unity of order n: exp(-2 pi i k / n), for k below n.
Complex root_of_unity(int64_t k, int64_t n) {
  // The angle is 2 pi k / n. Sine and cosine are taken of an eighth of a turn at most.
  const int64_t eighths = 8 * k;
  const auto angle = [n](int64_t part) {
    return 2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(n);
  };
  const int64_t octant = eighths / n;
  const auto turned = [&](int64_t quarters) {  // the angle less a number of quarters of a turn
    return angle(4 * k - quarters * n) / 4;
  };
  switch (octant) {
    case 0: return {std::cos(angle(k)), -std::sin(angle(k))};
    case 1:
    case 2: return {-std::sin(turned(1)), -std::cos(turned(1))};
    case 3:
    case 4: return {-std::cos(turned(2)), std::sin(turned(2))};
    case 5:
    case 6: return {std::sin(turned(3)), std::cos(turned(3))};
    default: return {std::cos(turned(4)), -std::sin(turned(4))};
  }
}

/// Many roots of one order: each is the product of two, of which few are computed.
class Roots {
 public:
  explicit Roots(int64_t order) : order_(order) {
    while (step_ * step_ < order) step_ *= 2;
    for (int64_t k = 0; k < step_; ++k) fine_.push_back(at(k));
    for (int64_t k = 0; k < order; k += step_) coarse_.push_back(at(k));
  }
  Complex operator[](int64_t k) const {
    return coarse_[static_cast<size_t>(k / step_)] * fine_[static_cast<size_t>(k % step_)];
  }

 private:
  Complex at(int64_t k) const { return root_of_unity(k, order_); }
  int64_t order_, step_ = 1;
  CountedVector<Complex> fine_, coarse_;
};

/// As few passes as radices up to 8 allow.
CountedVector<int64_t> radices_of(int64_t length) {
  CountedVector<int64_t> found;
  int64_t halvings = 0;
  for (; length % 2 == 0; length /= 2) ++halvings;
  for (; halvings >= 5 || halvings == 3; halvings -= 3) found.push_back(8);
  for (; halvings >= 2; halvings -= 2) found.push_back(4);
  if (halvings == 1) found.push_back(2);
  for (int64_t radix = 3; radix <= kLargestRadix; radix += 2) {
    for (; length % radix == 0; length /= radix) found.push_back(radix);
  }
  if (length != 1) found.clear();
  return found;
}

/// The shortest length from `least` on that is quick: a power of 2, perhaps times 3, 5, 9 or 15.
int64_t quick_length(int64_t least) {
  int64_t best = 0;
  for (const int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t length = odd;
    while (length < least) length *= 2;
    if (best == 0 || length < best) best = length;
  }
  return best;
}

/// The product of some of the passes that is nearest to the root of the length from below.
int64_t most_even_divisor(int64_t length) {
  auto divisor = static_cast<int64_t>(std::sqrt(static_cast<double>(length)));
  while (length % divisor != 0) --divisor;
  return divisor;
}

/// The transform of one line in float64, pass by pass, for tables.
void transform(CountedVector<Complex>& line) {
  const auto length = static_cast<int64_t>(line.size());
  const Roots roots(length);
  CountedVector<Complex> turned(line.size());
  int64_t before = 1;
  for (const int64_t radix : radices_of(length)) {
    const int64_t after = length / before / radix;
    for (int64_t at = 0; at < length; ++at) {  // place i of block k of result j
      const int64_t i = at % after, k = at / after % before, j = at / after / before;
      Complex sum = 0;
      for (int64_t b = 0; b < radix; ++b) {
        const int64_t turns = length / radix * (j * b % radix) + before * i * j;
        sum += line[static_cast<size_t>(i + after * (b + radix * k))] * roots[turns % length];
      }
      turned[static_cast<size_t>(at)] = sum;
    }
    line.swap(turned);
    before *= radix;
  }
}

template <typename T>
struct PlanCache {
  std::mutex mutex;
  std::unordered_map<int64_t, std::shared_ptr<const FftPlan<T>>> plans;
  size_t bytes = 0;
};

template <typename T>
PlanCache<T>& plan_cache() {
  static auto* const cache = new PlanCache<T>;  // outlives threads that end after main()
  return *cache;
}

}  // namespace

template <typename T>
FftPlan<T>::FftPlan(int64_t size) : length(size) {
  add_passes();
  if (passes.empty() && length > 1) {
    add_chirp();
  } else {
    add_rows();
  }
  add_real_turns();
}

template <typename T>
void FftPlan<T>::add_passes() {
  int64_t before = 1;
  for (const int64_t radix : radices_of(length)) {
    FftPass pass{radix, before, length / before / radix, twiddles.size(), 0};
    const int64_t span = radix * pass.after;
    for (int64_t place = 0; place < pass.after; ++place) {
      for (int64_t j = 1; j < radix; ++j) {
        append(twiddles, root_of_unity(j * place, span));
      }
    }
    pass.roots = twiddles.size();
    for (int64_t k = 0; k < radix && radix > 5 && radix != 8; ++k) {
      append(twiddles, root_of_unity(k, radix));
    }
    passes.push_back(pass);
    before *= radix;
  }
}

template <typename T>
void FftPlan<T>::add_rows() {
  constexpr int64_t kShortest = 32;  // below it one line alone is not worth cutting
  if (length < kShortest) return;
  const int64_t divisor = most_even_divisor(length);
  if (divisor == 1) return;
  rows = divisor;
  columns = length / divisor;
  of_columns = fft_plan<T>(rows);
  of_rows = fft_plan<T>(columns);
  const Roots roots(length);
  const int64_t blocks = (columns - 1) / kTurnColumns + 1;
  turns.resize(static_cast<size_t>(2 * blocks * kTurnColumns * rows));
  for (int64_t column = 0; column < columns; ++column) {
    T* at = turns.data() + column / kTurnColumns * rows * 2 * kTurnColumns + column % kTurnColumns;
    for (int64_t row = 0; row < rows; ++row, at += 2 * kTurnColumns) {
      const Complex root = roots[row * column];
      at[0] = static_cast<T>(root.real());
      at[kTurnColumns] = static_cast<T>(root.imag());
    }
  }
}

template <typename T>
void FftPlan<T>::add_real_turns() {
  const Roots roots(2 * length);
  real_turns.reserve(static_cast<size_t>(2 * length + 2));
  for (int64_t k = 0; k <= length; ++k) append(real_turns, roots[k]);
}

template <typename T>
void FftPlan<T>::add_chirp() {
  const int64_t size = quick_length(2 * length - 1);
  padded = fft_plan<T>(size);
  CountedVector<Complex> wave;
  for (int64_t k = 0; k < length; ++k) {
    const auto square = static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k);
    wave.push_back(root_of_unity(
        static_cast<int64_t>(square % static_cast<unsigned __int128>(2 * length)), 2 * length));
    append(chirp, wave.back());
  }
  CountedVector<Complex> line(static_cast<size_t>(size));
  for (size_t k = 0; k < wave.size(); ++k) {
    line[k] = std::conj(wave[k]) / static_cast<double>(size);
    if (k > 0) line[line.size() - k] = line[k];
  }
  transform(line);
  for (const Complex number : line) append(spectrum, number);
}

template <typename T>
size_t FftPlan<T>::bytes() const {
  return (twiddles.size() + turns.size() + real_turns.size() + chirp.size() + spectrum.size()) *
         sizeof(T);
}

template <typename T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t length) {
  PlanCache<T>& cache = plan_cache<T>();
  {
    const std::lock_guard lock(cache.mutex);
    const auto found = cache.plans.find(length);
    if (found != cache.plans.end()) return found->second;
  }
  auto plan = std::make_shared<const FftPlan<T>>(length);
  const std::lock_guard lock(cache.mutex);
  if (cache.bytes + plan->bytes() > kPlanBytes) {
    cache.plans.clear();
    cache.bytes = 0;
  }
  if (plan->bytes() <= kPlanBytes && cache.plans.emplace(length, plan).second) {
    cache.bytes += plan->bytes();
  }
  return plan;
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan<float>(int64_t);
template std::shared_ptr<const FftPlan<double>> fft_plan<double>(int64_t);

}  // namespace ebb::kernels::cpu
