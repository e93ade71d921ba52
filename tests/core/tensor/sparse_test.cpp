// tests/core/tensor/sparse_test.cpp -- tensors without strided memory: what they tell, and that
// nothing gets at elements which are not there.
#include "ebb/core/tensor/sparse.h"

#include <gtest/gtest.h>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/tensor/device_memory.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

Tensor numbers(IntSpan sizes, DType dtype) {
  const Tensor made = empty(sizes, dtype);
  std::fill_n(static_cast<char*>(made.host_data()), made.nbytes(), char{0});
  return made;
}

/// A [4, 2] tensor that stores rows 0 and 0.
Tensor rows_of_zeros() {
  return make_sparse(Layout::selected_rows, Shape{4, 2},
                     {.indices = numbers(Shape{2}, DType::int64),
                      .columns = {},
                      .values = numbers(Shape{2, 2}, DType::float32)});
}

struct Foreign {
  int freed = 0;
};
Tensor opaque_over(Foreign& foreign) {
  return make_opaque(
      Shape{2, 3}, DType::float32, Device{},
      [](void* context) noexcept { ++static_cast<Foreign*>(context)->freed; }, &foreign);
}

TEST(Sparse, HasTheShapeDtypeAndDeviceThatItStandsFor) {
  const Tensor tensor = rows_of_zeros();
  EXPECT_EQ(tensor.layout(), Layout::selected_rows);
  EXPECT_EQ(tensor.dtype(), DType::float32);
  EXPECT_EQ(tensor.device(), Device{});
  EXPECT_EQ(tensor.shape(), (Shape{4, 2}));
  EXPECT_EQ(tensor.numel(), 8);
  EXPECT_EQ(stored_bytes(tensor), 2u * 8 + 4u * 4);
  EXPECT_TRUE(has_parts(tensor));
  EXPECT_FALSE(is_strided(tensor));
  EXPECT_FALSE(is_coalesced(tensor));
}

TEST(Sparse, IsWhereNoKernelIsSentToAndTellsItsDeviceAllTheSame) {
  const Device cuda{DeviceType::cuda, 3};
  for (const Device device : {Device{}, cuda}) {
    EXPECT_TRUE(is_hidden(hidden(device)));
    EXPECT_EQ(revealed(hidden(device)), device);
    EXPECT_EQ(revealed(device), device);
    EXPECT_EQ(hidden(hidden(device)), hidden(device));
    EXPECT_EQ(to_string(hidden(device)), to_string(device));
    EXPECT_FALSE(is_on_host(hidden(device)));
  }
}

TEST(Sparse, HasNoMemoryToReadCopyOrView) {
  const Tensor tensor = rows_of_zeros();
  const std::string refusal =
      "must be strided, got one of layout selected_rows and shape [4, 2]\nhint: call .to_dense() "
      "on it "
      "first";
  EXPECT_EQ(error_of<NotImplementedError>([&] { tensor.data<float>(); }),
            "data: 'tensor' " + refusal);
  EXPECT_EQ(error_of<NotImplementedError>([&] { make_view(tensor, Shape{8}, Shape{1}, 0); }),
            "view: 'base' " + refusal);
  EXPECT_NE(error_of<NotImplementedError>([&] { host_copy(tensor); }).find("must be strided"),
            std::string::npos);
  EXPECT_NE(error_of<NotImplementedError>([&] {
              empty_like(tensor, DType::float32);
            }).find("needs a strided tensor"),
            std::string::npos);
}

TEST(Sparse, SharesItsPartsWithADetachedTwin) {
  const Tensor tensor = rows_of_zeros();
  const Tensor twin = detached(tensor);
  EXPECT_EQ(twin.layout(), Layout::selected_rows);
  EXPECT_EQ(&parts_of("test", twin), &parts_of("test", tensor));
  EXPECT_TRUE(is_hidden(twin.impl()->device));
}

TEST(Sparse, FreesItsPartsWithTheLastOwner) {
  const Tensor values = numbers(Shape{2, 2}, DType::float32);
  {
    const Tensor tensor = make_sparse(Layout::selected_rows, Shape{4, 2},
                                      {numbers(Shape{2}, DType::int64), {}, values, true});
    EXPECT_EQ(values.impl()->refs.value(), 2u);
  }
  EXPECT_EQ(values.impl()->refs.value(), 1u);
}

TEST(Opaque, TellsWhatItIsAndRefusesEverythingElse) {
  Foreign foreign;
  {
    const Tensor tensor = opaque_over(foreign);
    EXPECT_EQ(tensor.layout(), Layout::opaque);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    EXPECT_EQ(stored_bytes(tensor), 0u);
    EXPECT_EQ(error_of<NotImplementedError>([&] { tensor.data<float>(); }),
              "data: 'tensor' must be strided, got one of layout opaque and shape [2, 3]");
    EXPECT_EQ(error_of<NotImplementedError>([&] { parts_of("values", tensor); }),
              "values: needs a sparse tensor, got one of layout opaque and shape [2, 3]\nhint: "
              "to_sparse() "
              "makes one of a strided tensor");
  }
  EXPECT_EQ(foreign.freed, 1);
}

TEST(Opaque, IsFreedIfItsSizesAreRefused) {
  Foreign foreign;
  const int64_t too_much[] = {int64_t{1} << 62, 4};
  EXPECT_NE(error_of<ShapeError>([&] {
              make_opaque(
                  too_much, DType::float32, Device{},
                  [](void* context) noexcept { ++static_cast<Foreign*>(context)->freed; },
                  &foreign);
            }),
            "no error");
  EXPECT_EQ(foreign.freed, 1);
}

}  // namespace
}  // namespace ebb
