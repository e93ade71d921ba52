// tests/kernels/kernel_table_test.cpp -- which function a kernel's table gives for which key.
#include "ebb/kernels/kernel_table.h"

#include <gtest/gtest.h>

#include "ebb/kernels/tables/add.h"

namespace ebb::kernels {
namespace {

int one(int value) { return value + 1; }

TEST(KernelTable, GivesAFunctionForItsOwnBackendLayoutAndDTypeOnly) {
  KernelTable<int (*)(int)> table;
  const KernelKey key{Backend::custom, Layout::sparse_csr, DType::float64};
  table.set(key, &one);
  int found = 0;
  for (int backend = 0; backend < kBackendCount; ++backend) {
    for (int layout = 0; layout < kLayoutCount; ++layout) {
      for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
        const KernelKey asked{static_cast<Backend>(backend), static_cast<Layout>(layout),
                              static_cast<DType>(dtype)};
        found += table.find(asked) != nullptr ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(found, 1);
  EXPECT_EQ(table.find(key)(4), 5);
}

TEST(KernelTable, OfTheCpuHasStridedKernels) {
  EXPECT_NE(add_kernels.find({Backend::cpu, Layout::strided, DType::float32}), nullptr);
  EXPECT_EQ(add_kernels.find({Backend::cpu, Layout::strided, DType::float32}),
            add_kernels.find_cpu(DType::float32));
  EXPECT_EQ(add_kernels.find({Backend::cpu, Layout::sparse_coo, DType::float32}), nullptr);
  EXPECT_EQ(add_kernels.find({Backend::cuda, Layout::strided, DType::float32}), nullptr);
}

}  // namespace
}  // namespace ebb::kernels
