#pragma once
/// Examines this machine for optional components, and explains how to get missing ones.

#include <string>
#include <utility>
#include <vector>

namespace nestsmith {

struct DoctorItem {
  std::string key;    ///< "gpu", "nvrtc", "cublas", "headers", "occupancy", "cache", "cpu"
  std::string name;   ///< the name that is printed: "CUDA headers"
  bool found = false; ///< whether the component was found; for the cache: whether it can be written
  std::string detail; ///< description of the component, or the reason why it was not found
  std::string advice; ///< how to install the component; empty if it was found
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
