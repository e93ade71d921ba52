// tests/device/plugin_test.cpp -- registering plug-ins: what is refused, and what devices are
// called.
#include "ebb/autograd/ops/empty.h"
#include "ebb/autograd/ops/zeros.h"
#include "ebb/core/device/device_plugin.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/registry.h"
#include "tests/device/device_test_support.h"

namespace ebb {
namespace {

/// The simulated device's struct, to be spoiled in one place.
DevicePlugin copy_of_plugin() {
  sim();
  return *find_plugin(sim().first.type);
}
std::string refusal(const DevicePlugin& plugin) {
  return error_of<ValueError>([&] { register_device(&plugin); });
}

TEST(Plugin, GivesItsDevicesTheirNames) {
  EXPECT_EQ(to_string(sim().first), "sim:0");
  EXPECT_EQ(to_string(sim().second), "sim:1");
  EXPECT_EQ(parse_device("sim"), sim().first);
  EXPECT_EQ(parse_device("sim:1"), sim().second);
  EXPECT_EQ(device_count(sim().first.type), 2);
  EXPECT_EQ(all_devices(), (std::vector<Device>{{}, sim().first, sim().second}));
}

TEST(Plugin, IsNamedAmongTheDevicesOfAnError) {
  sim();  // loads it
  const std::string text = error_of<ValueError>([] { parse_device("gpu"); });
  EXPECT_EQ(text,
            "device: needs 'cpu', 'cuda', 'meta', 'opencl', 'sim' or the name of a loaded plug-in, "
            "with an "
            "optional "
            "':index' from 0 to 127, got 'gpu'");
}

TEST(Plugin, OfAnotherAbiVersionIsRefused) {
  DevicePlugin plugin = copy_of_plugin();
  plugin.abi_version = 99;
  EXPECT_EQ(refusal(plugin),
            "register_device: needs ABI version 1, got 99\nhint: build the plug-in with the "
            "headers of this version");
}

TEST(Plugin, OfAnotherSizeIsRefused) {
  DevicePlugin plugin = copy_of_plugin();
  plugin.struct_size -= 8;
  EXPECT_EQ(refusal(plugin).rfind("register_device: needs a struct of ", 0), 0u) << refusal(plugin);
}

TEST(Plugin, WithoutAFunctionIsRefused) {
  DevicePlugin plugin = copy_of_plugin();
  plugin.name = "other";
  plugin.wait_event = nullptr;
  EXPECT_EQ(refusal(plugin),
            "register_device: other needs the function wait_event, got a null pointer");
}

TEST(Plugin, NeedsAGoodAndNewName) {
  DevicePlugin plugin = copy_of_plugin();
  EXPECT_EQ(refusal(plugin), "register_device: the name must be new, got 'sim'");
  for (const char* name : {"", "cpu", "pinned", "Sim", "sim:1", "a_name_that_is_long"}) {
    plugin.name = name;
    EXPECT_EQ(refusal(plugin).rfind("register_device: the name needs ", 0), 0u) << name;
  }
}

TEST(Plugin, ThatIsNullIsRefused) {
  EXPECT_EQ(error_of<ValueError>([] { register_device(nullptr); }),
            "register_device: needs a plug-in, got a null pointer");
}

TEST(Plugin, WithTooManyDevicesIsRefused) {
  DevicePlugin plugin = copy_of_plugin();
  plugin.name = "many";
  plugin.device_count = [](int* count) {
    *count = 129;
    return 0;
  };
  EXPECT_EQ(refusal(plugin), "register_device: many needs 0 to 128 devices, got 129");
  plugin.device_count = [](int*) { return 1; };
  EXPECT_EQ(refusal(plugin).rfind("register_device: many cannot count its devices: ", 0), 0u);
}

TEST(Plugin, IsLoadedOnce) {
  EXPECT_EQ(load_device_plugin(sim().path), sim().first.type);
  EXPECT_EQ(load_device_plugin(sim().path), sim().first.type);
}

TEST(Plugin, MustBeALibraryWithAnEntry) {
  EXPECT_EQ(error_of<IoError>([] {
              load_device_plugin("/nowhere/x.so");
            }).rfind("load_device_plugin: ", 0),
            0u);
  EXPECT_EQ(error_of<ValueError>([] { load_device_plugin("libm.so.6"); }),
            "load_device_plugin: the library needs a function ebb_device_plugin, got libm.so.6");
}

TEST(Plugin, HasOnlyTheDevicesThatItCounted) {
  sim();
  EXPECT_EQ(error_of<ValueError>([] { empty(Shape{2}, DType::float32, parse_device("sim:2")); }),
            "allocate: needs a device that is there, got sim:2, and there are 2 of sim");
  EXPECT_EQ(error_of<ValueError>([] { zeros(Shape{2}, DType::float32, parse_device("cuda:0")); }),
            "zeros: needs a device that is there, got cuda:0\n"
            "hint: leave it on 'cpu', or load its plug-in with load_device_plugin()");
}

TEST(Plugin, KernelOfAnotherSignatureIsRefused) {
  const kernels::KernelKey key{backend_of(sim().first), Layout::strided, DType::float32};
  const std::string text = error_of<ValueError>(
      [&] { ops::register_kernel("neg", kernels::signature::add, key, nullptr); });
  EXPECT_NE(text.find("build the plug-in with the headers of this version"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace ebb
