#pragma once
/// What this machine has of what nestsmith can use, and how to get the rest.

#include <string>
#include <utility>
#include <vector>

namespace nestsmith {

struct DoctorItem {
  std::string key;    ///< "gpu", "nvrtc", "cublas", "headers", "occupancy", "cache", "cpu"
  std::string name;   ///< for people: "CUDA headers"
  bool found = false; ///< or, for the cache: can be written
  std::string detail; ///< what was found, or why nothing was
  std::string advice; ///< how to get it; empty where it is found
  /// Single facts by name, for `--json`: {"version", "13.0"}, {"path", …}.
  std::vector<std::pair<std::string, std::string>> facts;
};

struct DoctorReport {
  std::vector<DoctorItem> items;

  const DoctorItem &item(const std::string &key) const;
};

/// Looks; nothing is written or compiled.
DoctorReport examine_machine();

} // namespace nestsmith
