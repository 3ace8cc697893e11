#pragma once
/// Calls cli_main in this process, with rungs that a test defines.

#include "dsl/ir/tensor.h"
#include "tools/cli.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace nestsmith::test {

/// Y = a*X + Y.
inline Schedule axpy(const Shape &shape, DType dtype, const Target &target) {
  Workload w("axpy");
  Tensor x = w.placeholder("X", {shape[0]}, dtype), y = w.inout("Y", {shape[0]}, dtype);
  Expr a = w.scalar("a", dtype);
  w.update(y, {"i"}, [&](const std::vector<Expr> &n) { return a * x(n[0]) + y(n[0]); });
  Schedule s(w.output(), target);
  auto [i] = s.loops<1>(s.block("Y"));
  auto [block, thread] = s.split(i, {infer, 128});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

struct Called {
  int code;
  std::string out, err;
};

/// Calls `f`, which returns an exit code, and captures its output.
template <class F> Called captured(const F &f) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int code = f();
  std::string out = testing::internal::GetCapturedStdout();
  return {code, out, testing::internal::GetCapturedStderr()};
}

inline Called call_main(std::vector<std::string> words, const std::vector<Rung> &own,
                        const std::vector<Tutorial> &tutorials = {}) {
  words.insert(words.begin(), "mine");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  return captured([&] { return cli_main(static_cast<int>(argv.size()), argv.data(), own, tutorials); });
}

} // namespace nestsmith::test
