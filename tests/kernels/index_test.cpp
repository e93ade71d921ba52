// tests/kernels/index_test.cpp -- cat, gather, index_select, scatter_add, index_add, max_dim.
#include <gtest/gtest.h>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/checked_index.h"
#include "ebb/kernels/tables/cat.h"
#include "ebb/kernels/tables/find_out_of_range.h"
#include "ebb/kernels/tables/gather.h"
#include "ebb/kernels/tables/index_add.h"
#include "ebb/kernels/tables/index_copy.h"
#include "ebb/kernels/tables/index_select.h"
#include "ebb/kernels/tables/max_dim.h"
#include "ebb/kernels/tables/scatter.h"
#include "ebb/kernels/tables/scatter_add.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

Array random_indices(std::vector<int64_t> sizes, int64_t limit, unsigned seed) {
  Array array(DType::int64, std::move(sizes));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < array.numel(); ++i) {
    array.set(i, static_cast<double>(random() % static_cast<unsigned>(limit)));
  }
  return array;
}

/// Coordinates of element number `index`, and back.
std::vector<int64_t> coordinates(const Array& array, int64_t index) {
  std::vector<int64_t> at(array.sizes().size());
  for (size_t dim = at.size(); dim-- > 0;) {
    at[dim] = index % array.sizes()[dim];
    index /= array.sizes()[dim];
  }
  return at;
}
int64_t number_of(const Array& array, const std::vector<int64_t>& at) {
  int64_t number = 0;
  for (size_t dim = 0; dim < at.size(); ++dim) number = number * array.sizes()[dim] + at[dim];
  return number;
}

class IndexPerDType : public PerDType {};
INSTANTIATE_TEST_SUITE_P(All, IndexPerDType, kEveryDType, dtype_name);

TEST_P(IndexPerDType, CatJoinsAlongAnyDim) {
  for (int dim = 0; dim < 3; ++dim) {
    std::vector<int64_t> sizes = {3, 4, 5};
    std::vector<Array> parts;
    for (const int64_t size : {2, 0, 7}) {
      sizes[static_cast<size_t>(dim)] = size;
      parts.push_back(random_array(dtype(), sizes, static_cast<unsigned>(size)));
    }
    sizes[static_cast<size_t>(dim)] = 9;
    const Array out(dtype(), sizes);
    const std::vector<TensorView> views = {parts[0].view(), parts[1].view(), parts[2].view()};
    cat_kernels.find_cpu(dtype())(kContext, views, dim, out.view());
    for (int64_t i = 0; i < out.numel(); ++i) {
      auto at = coordinates(out, i);
      int64_t& place = at[static_cast<size_t>(dim)];
      const Array& part = place < 2 ? parts[0] : parts[2];
      if (place >= 2) place -= 2;
      ASSERT_EQ(out.get(i), part.get(number_of(part, at)));
    }
  }
}

TEST_P(IndexPerDType, GatherAndIndexSelectReadAlongAnyDim) {
  const Array input = random_array(dtype(), {6, 5, 7}, 1);
  const Array turned = random_array(dtype(), {7, 5, 6}, 1).transposed(0, 2);
  for (const Array& from : {input, turned}) {
    for (int dim = 0; dim < 3; ++dim) {
      const auto along = static_cast<size_t>(dim);
      const Array index = random_indices({4, 3, 2}, from.sizes()[along], 2);
      const Array out(dtype(), {4, 3, 2});
      gather_kernels.find_cpu(dtype())(kContext, from.view(), dim, index.view(), out.view());
      for (int64_t i = 0; i < out.numel(); ++i) {
        auto at = coordinates(out, i);
        at[along] = index.integer(i);
        ASSERT_EQ(out.get(i), from.get(number_of(from, at)));
      }
      const Array rows = random_indices({9}, from.sizes()[along], 3);
      auto sizes = from.sizes();
      sizes[along] = 9;
      const Array selected(dtype(), sizes);
      index_select_kernels.find_cpu(dtype())(kContext, from.view(), dim, rows.view(),
                                             selected.view());
      for (int64_t i = 0; i < selected.numel(); ++i) {
        auto at = coordinates(selected, i);
        at[along] = rows.integer(at[along]);
        ASSERT_EQ(selected.get(i), from.get(number_of(from, at)));
      }
    }
  }
}

/// What out holds once src was added, in the order of src, where `target` says.
template <class Target>
void check_added(const Array& out, Array want, const Array& src, double alpha, Target target) {
  for (int64_t i = 0; i < src.numel(); ++i) {
    const int64_t at = target(i);
    want.set(at, want.get(at) + alpha * src.get(i));
  }
  for (int64_t i = 0; i < out.numel(); ++i) {
    ASSERT_TRUE(is_near(out.get(i), want.get(i), 20 * tolerance(out.dtype())))
        << name_of(out.dtype()) << i << ' ' << out.get(i) << want.get(i);
  }
}

TEST_P(IndexPerDType, ScatterAddAndIndexAddSumDuplicates) {
  if (scatter_add_kernels.find_cpu(dtype()) == nullptr) return;
  for (int dim = 0; dim < 3; ++dim) {
    const auto along = static_cast<size_t>(dim);
    const Array src = random_array(dtype(), {4, 6, 5}, 1);
    const Array index = random_indices({4, 6, 5}, 3, 2);
    std::vector<int64_t> sizes = {4, 6, 5};
    sizes[along] = 3;
    const Array out = random_array(dtype(), sizes, 3);
    scatter_add_kernels.find_cpu(dtype())(kContext, index.view(), src.view(), dim, out.view());
    check_added(out, random_array(dtype(), sizes, 3), src, 1.0, [&](int64_t i) {
      auto at = coordinates(src, i);
      at[along] = index.integer(i);
      return number_of(out, at);
    });
    const Array rows = random_indices({src.sizes()[along]}, 3, 4);
    const Array sums = random_array(dtype(), sizes, 3);
    const int alpha = dtype() == DType::boolean ? 1 : 2;
    index_add_kernels.find_cpu(dtype())(kContext, rows.view(), src.view(), dim, Scalar(alpha),
                                        sums.view());
    check_added(sums, random_array(dtype(), sizes, 3), src, alpha, [&](int64_t i) {
      auto at = coordinates(src, i);
      at[along] = rows.integer(at[along]);
      return number_of(out, at);
    });
  }
}

TEST_P(IndexPerDType, MaxDimFindsTheFirstLargest) {
  if (max_dim_kernels.find_cpu(dtype()) == nullptr) return;
  const Array cube = random_array(dtype(), {4, 70, 5}, 1);
  const Array turned = random_array(dtype(), {5, 70, 4}, 1).transposed(0, 2);
  for (const Array& input : {cube, turned}) {
    for (int dim = 0; dim < 3; ++dim) {
      const auto along = static_cast<size_t>(dim);
      auto sizes = input.sizes();
      sizes[along] = 1;
      const Array out(dtype(), sizes), indices(DType::int64, sizes);
      max_dim_kernels.find_cpu(dtype())(kContext, input.view(), dim, out.view(), indices.view());
      for (int64_t i = 0; i < out.numel(); ++i) {
        auto at = coordinates(out, i);
        int64_t best = 0;
        double largest = -1e30;
        for (int64_t j = 0; j < input.sizes()[along]; ++j) {
          at[along] = j;
          const double value = input.real(number_of(input, at));
          if (value > largest) best = j;
          largest = std::max(largest, value);
        }
        ASSERT_EQ(out.real(i), largest);
        ASSERT_EQ(indices.integer(i), best);
      }
    }
  }
}

TEST(Index, MaxDimCountsNaNAsLargest) {
  Array input = random_array(DType::float32, {2, 5}, 1);
  input.set(3, std::nan(""));
  const Array out(DType::float32, {2, 1}), indices(DType::int64, {2, 1});
  max_dim_kernels.find_cpu(DType::float32)(kContext, input.view(), 1, out.view(), indices.view());
  EXPECT_TRUE(std::isnan(out.real(0)));
  EXPECT_EQ(indices.integer(0), 3);
}

TEST(Index, FindsTheFirstIndexOutOfRange) {
  Array index = random_indices({100000}, 10, 1);
  const auto find = find_out_of_range_kernels.find_cpu(DType::int64);
  EXPECT_EQ(find(kContext, index.view(), 0, 10), -1);
  index.set(99000, 10.0);
  index.set(70001, -1.0);
  EXPECT_EQ(find(kContext, index.view(), 0, 10), 70001);
  EXPECT_EQ(find(kContext, index.with_strides({50, 3}, {1, 1000}).view(), 0, 10), -1);
  EXPECT_EQ(find(kContext, Array(DType::int64, {0}).view(), 0, 10), -1);
}

/// What a kernel found wrong, if it says so.
template <class Run>
WrongIndex wrong_index_of(Run run) {
  try {
    run();
  } catch (const WrongIndex& wrong) {
    return wrong;
  }
  return {0, -1};
}

class WrongIndices : public testing::TestWithParam<std::vector<int64_t>> {
 protected:
  /// Kernels run on indices that nobody checked, as after a write by another thread.
  void SetUp() override {
    rows_.set(5, 1e15);
    rows_.set(8, -1e15);
    index_.set(5, -1e15);
  }
  void TearDown() override { set_num_threads(1); }

  static std::vector<int64_t> few() {
    std::vector<int64_t> sizes = GetParam();
    sizes[0] = 7;
    return sizes;
  }
  Array rows_ = random_indices({GetParam()[0]}, 7, 1), index_ = random_indices(GetParam(), 7, 2);
  Array many_ = random_array(DType::float32, GetParam(), 3);
  Array few_ = random_array(DType::float32, few(), 4);
};
INSTANTIATE_TEST_SUITE_P(Shapes, WrongIndices,
                         testing::Values(std::vector<int64_t>{50000}, std::vector<int64_t>{1000, 3},
                                         std::vector<int64_t>{9, 40},
                                         std::vector<int64_t>{3000, 40}));

TEST_P(WrongIndices, AreNotReadThrough) {
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const WrongIndex gathered = wrong_index_of([&] {
      gather_kernels.find_cpu(DType::float32)(kContext, few_.view(), 0, index_.view(),
                                              many_.view());
    });
    EXPECT_EQ(gathered.value, -1e15);
    EXPECT_EQ(gathered.position, 5);
    const WrongIndex selected = wrong_index_of([&] {
      index_select_kernels.find_cpu(DType::float32)(kContext, few_.view(), 0, rows_.view(),
                                                    many_.view());
    });
    EXPECT_EQ(selected.value, 1e15);
    EXPECT_EQ(selected.position, 5);
  }
}

TEST_P(WrongIndices, AreNotWrittenThrough) {
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    wrong_index_of([&] {
      index_add_kernels.find_cpu(DType::float32)(kContext, rows_.view(), many_.view(), 0, Scalar(1),
                                                 few_.view());
    });
    wrong_index_of([&] {
      index_copy_kernels.find_cpu(DType::float32)(kContext, rows_.view(), many_.view(), 0,
                                                  few_.view());
    });
    for (const auto* const table : {&scatter_add_kernels, &scatter_kernels}) {
      wrong_index_of([&] {
        table->find_cpu(DType::float32)(kContext, index_.view(), many_.view(), 0, few_.view());
      });
    }
  }
}

TEST(Index, WrongOnesAreNotWrittenThroughWhereThreadsTakeRanges) {
  const Array src = random_array(DType::float32, {50000}, 1);
  const Array out(DType::float32, {300000});
  Array index = random_indices({50000}, 300000, 2);
  index.set(5, -1e15);
  index.set(40000, 300000);
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    wrong_index_of([&] {
      index_add_kernels.find_cpu(DType::float32)(kContext, index.view(), src.view(), 0, Scalar(1),
                                                 out.view());
    });
    for (const auto* const table : {&scatter_add_kernels, &scatter_kernels}) {
      wrong_index_of([&] {
        table->find_cpu(DType::float32)(kContext, index.view(), src.view(), 0, out.view());
      });
    }
  }
  set_num_threads(1);
}

TEST(Index, AddsBitwiseTheSameForAnyNumberOfThreads) {
  struct Case {
    std::vector<int64_t> src, out;
  };
  const Case cases[] = {{{100000}, {50}},
                        {{100000}, {300000}},  // more than a cache holds: each thread takes a range
                        {{3000, 40}, {70, 40}},
                        {{100, 2000}, {30, 2000}}};
  for (const Case& test : cases) {
    const Array src = random_array(DType::float32, test.src, 1);
    const Array rows = random_indices({test.src[0]}, test.out[0], 2);
    const Array index = random_indices(test.src, test.out[0], 3);
    std::vector<std::vector<char>> first;
    for (const int threads : {1, 2, 3, 4, 8}) {
      set_num_threads(threads);
      const Array added(DType::float32, test.out), scattered(DType::float32, test.out);
      index_add_kernels.find_cpu(DType::float32)(kContext, rows.view(), src.view(), 0, Scalar(0.3),
                                                 added.view());
      scatter_add_kernels.find_cpu(DType::float32)(kContext, index.view(), src.view(), 0,
                                                   scattered.view());
      const std::vector<std::vector<char>> bytes = {added.bytes(), scattered.bytes()};
      if (threads == 1) first = bytes;
      EXPECT_EQ(bytes, first) << threads;
    }
  }
  set_num_threads(1);
}

}  // namespace
}  // namespace ebb::kernels::test
