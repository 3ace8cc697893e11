#pragma once
/// Examines this machine for optional components, and explains how to get missing ones.

#include <string>
#include <utility>
#include <vector>

namespace nestsmith {

struct DoctorItem {
  std::string key;    ///< "gpu", "nvrtc", "cublas", "headers", "occupancy", "cache", "cpu"
  std::string name;   ///< for people: "CUDA headers"
  bool found = false; ///< or, for the cache: can be written
  std::string detail; ///< the component, or the reason why none was found
  std::string advice; ///< how to get it; empty if it was found
  /// Facts by name, for `--json`: {"version", "13.0"}, {"path", …}.
  std::vector<std::pair<std::string, std::string>> facts;
};

struct DoctorReport {
  std::vector<DoctorItem> items;

  const DoctorItem &item(const std::string &key) const;
};

/// Examines the machine without writing or compiling anything.
DoctorReport examine_machine();

} // namespace nestsmith
