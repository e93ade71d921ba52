// tests/core/device/device_test.cpp -- devices to and from text.
#include "ebb/core/device/device.h"

#include <gtest/gtest.h>

#include "ebb/core/base/error.h"
#include "tests/core/core_test_support.h"

namespace ebb {
namespace {

std::string refusal(const std::string& text) {
  return error_of<ValueError>([&] { parse_device(text); });
}

TEST(Device, IsReadWithAndWithoutItsIndex) {
  EXPECT_EQ(parse_device("cpu"), (Device{DeviceType::cpu, 0}));
  EXPECT_EQ(parse_device("cuda:1"), (Device{DeviceType::cuda, 1}));
  EXPECT_EQ(parse_device("pinned"), (Device{DeviceType::pinned, 0}));
  EXPECT_EQ(parse_device("custom:127"), (Device{DeviceType::custom, 127}));
}

TEST(Device, IsPrintedAsItIsRead) {
  for (const char* text : {"cpu", "cuda:0", "cuda:3", "pinned:0", "custom:7"}) {
    EXPECT_EQ(to_string(parse_device(text)), text);
  }
}

TEST(Device, RefusesAnyOtherText) {
  EXPECT_EQ(refusal("gpu"),
            "device: needs 'cpu', 'cuda', 'meta', 'opencl' or the name of a loaded plug-in, with "
            "an optional "
            "':index' from 0 to 127, got 'gpu'");
  for (const char* text : {"", ":", ":0", "cpu:", "cuda:-1", "cuda:128", "cuda:1 ", "cuda: 1",
                           "cuda:99999999999999999999", "CPU", "cuda:1:2", "cuda:+1"}) {
    EXPECT_EQ(refusal(text).rfind("device: needs 'cpu'", 0), 0u) << text;
  }
}

TEST(Device, ShowsOnlyTheStartOfALongText) {
  const std::string text = refusal(std::string(10'000, 'x'));
  EXPECT_NE(text.find("got '" + std::string(40, 'x') + "'"), std::string::npos);
}

TEST(Device, NamesTheBackendThatRunsItsKernels) {
  EXPECT_EQ(backend_of({DeviceType::cpu, 0}), Backend::cpu);
  EXPECT_EQ(backend_of({DeviceType::pinned, 0}), Backend::cpu);
  EXPECT_EQ(backend_of({DeviceType::cuda, 2}), Backend::cuda);
  EXPECT_EQ(backend_of({DeviceType::custom, 0}), Backend::custom);
}

}  // namespace
}  // namespace ebb
