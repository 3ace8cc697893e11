#pragma once
/// A child process of `tune` that answers in the place of a GPU: a test of this binary.

#include "tools/tune/tuning.h"

#include <filesystem>
#include <functional>
#include <llvm/Support/JSON.h>
#include <optional>
#include <string>
#include <unistd.h>

namespace nestsmith::test {

/// Starts this binary with the test of this name only.
inline tune::Child start_test(const std::string &name) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return tune::Child::start(self, {self, "--gtest_filter=" + name});
}

/// In a child process, answers each request by a row for each of its points, until the parent ends; then the
/// process ends, too. Does nothing in other processes.
inline void answer_parent(
    const std::function<std::string(const llvm::json::Object &request, const llvm::json::Value &point)> &row) {
  std::optional<tune::Parent> parent = tune::Parent::connect();
  if (!parent)
    return;
  parent->send(R"({"gpu": "NVIDIA H200", "driver": "13.0", "nvrtc": "13.1", "peer": ""})");
  while (auto line = parent->receive()) {
    auto request = llvm::json::parse(*line);
    std::string rows;
    for (const llvm::json::Value &point : *request->getAsObject()->getArray("points"))
      rows += (rows.empty() ? "" : ", ") + row(*request->getAsObject(), point);
    parent->send("{\"rows\": [" + rows + "]}");
  }
  _exit(0);
}

} // namespace nestsmith::test
