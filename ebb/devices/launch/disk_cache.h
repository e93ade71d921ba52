// ebb/devices/launch/disk_cache.h -- compiled programs on disk, so that only the first process
// compiles.
//
// A file holds the whole key beside the program, and a checksum: whatever does not agree counts as
// missing. Files are written under another name first and then renamed, so readers see all or
// nothing. EBB_KERNEL_CACHE names the folder ("0": none); else it is ~/.cache/ebb/kernels.
#pragma once

#include <optional>
#include <string>

namespace ebb::devices {

/// Whether there is a folder to keep programs in.
bool keeps_programs();
/// The program stored under the key, if there is a sound one.
std::optional<std::string> load_program(const std::string& key);
/// Stores it; where that fails (no room, no right) nothing happens.
void store_program(const std::string& key, const std::string& program);
/// Takes away what a back end refused, so that it is made anew.
void drop_program(const std::string& key);

}  // namespace ebb::devices
