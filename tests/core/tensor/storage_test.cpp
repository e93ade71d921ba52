// tests/core/tensor/storage_test.cpp -- memory: owned, foreign, versions and the log of writes.
#include "ebb/core/tensor/storage.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ebb/autograd/ops/empty.h"
#include "ebb/core/base/error.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/core/tensor/tensor.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

/// Foreign memory that counts how often it was freed.
struct Foreign {
  float values[6] = {0, 1, 2, 3, 4, 5};
  int freed = 0;

  static void free(void* context) noexcept { ++static_cast<Foreign*>(context)->freed; }
  Tensor tensor() {
    return from_blob(values, Shape{2, 3}, Shape{3, 1}, DType::float32, sizeof values, free, this);
  }
};

TEST(Storage, AlignsEverythingLongerThanAScalarToACacheLine) {
  for (const size_t bytes : {17u, 64u, 100u, 1000u, 5000u, 3u << 20}) {
    Storage* const storage = Storage::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage->data()) % 64, 0u) << bytes;
    EXPECT_EQ(storage->bytes(), bytes);
    storage->release();
  }
}

TEST(Storage, KeepsAScalarBesideItsHeader) {
  Storage* const storage = Storage::allocate(16);
  EXPECT_EQ(static_cast<char*>(storage->data()) - reinterpret_cast<char*>(storage), 48);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(storage->data()) % 16, 0u);
  storage->release();
}

TEST(Storage, GivesItsBytesBackWithTheLastOwner) {
  const int64_t before = memory_stats().live;
  Storage* const storage = Storage::allocate(1000);
  storage->retain();
  EXPECT_FALSE(storage->is_unique());
  storage->release();
  EXPECT_TRUE(storage->is_unique());
  EXPECT_GT(memory_stats().live, before);
  storage->release();
  EXPECT_EQ(memory_stats().live, before);
}

TEST(Storage, RefusesMoreThanThereIs) {
  EXPECT_THROW(Storage::allocate(size_t{1} << 60), OutOfMemoryError);
  EXPECT_THROW(Storage::allocate(static_cast<size_t>(INT64_MAX)), OutOfMemoryError);
}

TEST(ForeignStorage, IsFreedOnceByTheLastOfItsViews) {
  Foreign foreign;
  {
    const Tensor view = [&] {
      const Tensor base = foreign.tensor();
      return make_view(base, Shape{3}, Shape{1}, 3);
    }();
    EXPECT_EQ(foreign.freed, 0);
    EXPECT_EQ(view.data<float>()[0], 3.0f);
  }
  EXPECT_EQ(foreign.freed, 1);
}

TEST(ForeignStorage, IsFreedOnceIfATensorOfItCannotBeMade) {
  for (int successes = 0; successes < 2; ++successes) {
    Foreign foreign;
    fail_allocation_after(successes);
    EXPECT_THROW(foreign.tensor(), OutOfMemoryError) << successes;
    fail_allocation_after(-1);
    EXPECT_EQ(foreign.freed, 1) << successes;
  }
}

TEST(ForeignStorage, IsFreedOnceIfItsSizesAreRefused) {
  Foreign foreign;
  EXPECT_THROW(
      from_blob(foreign.values, Shape{-1}, Shape{1}, DType::float32, 24, Foreign::free, &foreign),
      ShapeError);
  EXPECT_EQ(foreign.freed, 1);
}

TEST(ForeignStorage, NeedsNoDeleter) {
  float value = 2;
  const Tensor tensor =
      from_blob(&value, Shape{}, Shape{}, DType::float32, sizeof value, nullptr, nullptr);
  EXPECT_EQ(tensor.item<float>(), 2.0f);
}

TEST(Storage, RaisesItsVersionAndFindsAWriteByItsBytes) {
  const Tensor tensor = empty(Shape{4}, DType::float32);
  Storage& storage = *tensor.impl()->storage;
  EXPECT_FALSE(storage.write_since(0, region_of(*tensor.impl())).has_value());
  storage.note_write("mul_", 42, ByteRegion::dense(4, 8));
  EXPECT_EQ(tensor.version(), 1u);
  EXPECT_STREQ(storage.write_since(0, ByteRegion::dense(11, 1))->op, "mul_");
  EXPECT_FALSE(storage.write_since(0, ByteRegion::dense(12, 4)).has_value());
  EXPECT_FALSE(storage.write_since(1, ByteRegion::dense(4, 8)).has_value());
}

TEST(Storage, DoubtsEveryByteOnceVersionsStartedAnew) {
  const Tensor tensor = empty(Shape{4}, DType::float32);
  Storage& storage = *tensor.impl()->storage;
  storage.note_write("mul_", 42, ByteRegion::dense(0, 4));
  EXPECT_TRUE(storage.write_since(7, ByteRegion::dense(12, 4)).has_value());
}

TEST(Storage, RemembersThatItIsReadOnly) {
  const Tensor tensor = empty(Shape{4}, DType::float32);
  EXPECT_FALSE(tensor.impl()->storage->is_read_only());
  tensor.impl()->storage->mark_read_only();
  EXPECT_TRUE(tensor.impl()->storage->is_read_only());
}

}  // namespace
}  // namespace ebb
