#pragma once
/// Compares two counts of one kernel.

#include "dsl/ir/printer.h"
#include "runtime/model/counters.h"

#include <gtest/gtest.h>

namespace nestsmith::model {

/// `sampled`: one count is of a sample, so its number of lines is an estimate, off by at most `part` of it.
inline void expect_equal(const Counters &a, const Counters &b, bool sampled = false, double part = 0.001) {
  auto ops = [](const OpCounts &x) { return std::pair(x.warps, x.threads); };
  // Each decoding creates new loads for a call of a warp, so the test compares their texts instead of their
  // nodes.
  auto text = [](const Load *access) { return access ? to_string(load(access->buffer, access->indices)) : ""; };
  EXPECT_EQ(ops(a.multiply_adds), ops(b.multiply_adds));
  EXPECT_EQ(ops(a.floating), ops(b.floating));
  EXPECT_EQ(ops(a.integer), ops(b.integer));
  EXPECT_EQ(ops(a.barriers), ops(b.barriers));
  EXPECT_EQ(ops(a.branches), ops(b.branches));
  EXPECT_EQ(a.divergent, b.divergent);
  EXPECT_EQ(a.blocks, b.blocks);
  ASSERT_EQ(a.accesses.size(), b.accesses.size());
  for (std::size_t n = 0; n < a.accesses.size(); ++n) {
    const AccessCounts &x = a.accesses[n], &y = b.accesses[n];
    SCOPED_TRACE(x.buffer->name + (x.is_store() ? ", stored" : ", loaded"));
    EXPECT_EQ(x.buffer, y.buffer);
    EXPECT_EQ(text(x.load), text(y.load));
    EXPECT_EQ(x.bytes, y.bytes);
    EXPECT_EQ(x.requests, y.requests);
    EXPECT_EQ(x.threads, y.threads);
    EXPECT_EQ(x.asked, y.asked);
    EXPECT_EQ(x.sectors, y.sectors);
    if (sampled)
      EXPECT_NEAR(static_cast<double>(x.lines), static_cast<double>(y.lines),
                  part * static_cast<double>(y.lines));
    else
      EXPECT_EQ(x.lines, y.lines);
    EXPECT_EQ(x.wavefronts, y.wavefronts);
    EXPECT_EQ(x.conflicts, y.conflicts);
  }
}

} // namespace nestsmith::model
