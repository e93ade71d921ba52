// tests/kernels/index_rows_test.cpp -- index_add and index_copy of many rows: sorted by counting or
// by comparing, evenly spread or not, they give bit for bit what a loop in order gives.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ebb/core/runtime/parallel.h"
#include "ebb/kernels/tables/combine_index.h"
#include "ebb/kernels/tables/find_true.h"
#include "ebb/kernels/tables/index_add.h"
#include "ebb/kernels/tables/index_copy.h"
#include "tests/kernels/array.h"

namespace ebb::kernels::test {
namespace {

struct Rows {
  const char* name;
  int64_t outer, count, width, positions;
  int64_t distinct;  // rows of out that get any source
};

class IndexRows : public testing::TestWithParam<Rows> {
 protected:
  void SetUp() override {
    const Rows& rows = GetParam();
    std::mt19937 random(5);
    for (int64_t i = 0; i < rows.count; ++i) {
      const auto pick = static_cast<int64_t>(random() % static_cast<unsigned>(rows.distinct));
      index_.set(i, static_cast<double>(pick * (rows.positions / rows.distinct)));
    }
  }
  void TearDown() override { set_num_threads(1); }

  /// Calls body(source row, row of want) for all rows in order.
  template <class Body>
  void in_order(Array& want, Body body) const {
    const Rows& rows = GetParam();
    for (int64_t outer = 0; outer < rows.outer; ++outer) {
      for (int64_t i = 0; i < rows.count; ++i) {
        const int64_t target = outer * rows.positions + index_.integer(i);
        body(src_.view().as<float>() + (outer * rows.count + i) * rows.width,
             want.view().as<float>() + target * rows.width);
      }
    }
  }
  static void expect_same_bits(const Array& got, const Array& want) {
    const auto bytes = static_cast<size_t>(want.numel()) * sizeof(float);
    EXPECT_EQ(std::memcmp(got.view().data, want.view().data, bytes), 0);
  }
  Array fresh() const {
    return random_array(DType::float32, {GetParam().outer, GetParam().positions, GetParam().width},
                        2);
  }

  Array index_{DType::int64, {GetParam().count}};
  Array src_ =
      random_array(DType::float32, {GetParam().outer, GetParam().count, GetParam().width}, 1);
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, IndexRows,
    testing::Values(Rows{"small", 2, 7, 5, 3, 3}, Rows{"counted", 1, 3000, 40, 70, 70},
                    Rows{"compared", 1, 3000, 40, 90000, 900}, Rows{"batched", 3, 700, 33, 50, 50},
                    Rows{"skewed", 1, 500, 1500, 40, 1}, Rows{"narrow", 1, 50000, 1, 300, 300},
                    Rows{"spread", 1, 2000, 65, 2000, 2000}),
    [](const testing::TestParamInfo<Rows>& info) { return info.param.name; });

TEST_P(IndexRows, AddWhatALoopInOrderAdds) {
  Array want = fresh();
  in_order(want, [](const float* from, float* to) {
    for (int64_t j = 0; j < GetParam().width; ++j) to[j] += 0.5f * from[j];
  });
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const Array out = fresh();
    index_add_kernels.find_cpu(DType::float32)(kContext, index_.view(), src_.view(), 1, Scalar(0.5),
                                               out.view());
    expect_same_bits(out, want);
  }
}

TEST_P(IndexRows, KeepTheLastOfWhatIsCopied) {
  Array want = fresh();
  in_order(want, [](const float* from, float* to) { std::copy_n(from, GetParam().width, to); });
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const Array out = fresh();
    index_copy_kernels.find_cpu(DType::float32)(kContext, index_.view(), src_.view(), 1,
                                                out.view());
    expect_same_bits(out, want);
  }
}

TEST(IndexPlaces, OfAllThatIsTrueAreFoundInOrder) {
  const Array mask(DType::boolean, {100000});
  auto* const values = mask.view().as<uint8_t>();
  // Any bit makes a byte true: another library may have written it.
  for (int64_t i = 0; i < mask.numel(); ++i) values[i] = i % 7 == 3 ? 1 << (i % 8) : 0;
  const auto find = find_true_kernels.find_cpu(DType::boolean);
  const int64_t count = find(kContext, mask.view(), nullptr);
  ASSERT_EQ(count, 14286);
  const Array places(DType::int64, {count});
  const TensorView out = places.view();
  find(kContext, mask.view(), &out);
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(places.integer(i), 7 * i + 3);
}

TEST(IndexPlaces, OfSeveralDimsCombineAndWrap) {
  Array rows(DType::int64, {2, 1}), columns(DType::int64, {3});
  rows.set(0, -1.0);
  columns.set(1, 4.0);
  columns.set(2, -5.0);
  const Array out(DType::int64, {2, 3});
  const auto combine = combine_index_kernels.find_cpu(DType::int64);
  EXPECT_EQ(combine(kContext, rows.view(), 4, true, out.view()), -1);
  EXPECT_EQ(combine(kContext, columns.view(), 5, false, out.view()), -1);
  const int64_t want[] = {15, 19, 15, 0, 4, 0};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(out.integer(i), want[i]);
  EXPECT_EQ(combine(kContext, columns.view(), 4, true, out.view()), 1);
}

}  // namespace
}  // namespace ebb::kernels::test
