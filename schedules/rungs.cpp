#include "schedules/000/rungs.h"
#include "schedules/001/rungs.h"
#include "schedules/002/rungs.h"
#include "schedules/003/rungs.h"
#include "schedules/004/rungs.h"
#include "schedules/rung.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith {

const std::vector<Rung> &builtin_rungs() {
  static const std::vector<Rung> rungs = {
      {"000", "naive", "one thread an element; a warp walks down a column", tutorial_000::naive, {16, 16, 16}},
      {"000",
       "coalesced",
       "one thread an element; a warp walks along a row",
       tutorial_000::coalesced,
       {16, 16, 16}},
      {"000", "shared", "32 x 32 tiles of A and B in shared memory", tutorial_000::shared, {32, 32, 32}},
      {"000", "tile1d", "64 x 64 tiles, 8 results a thread", tutorial_000::tile1d, {64, 64, 8}},
      {"001", "naive", "C += A*B', one thread an element", tutorial_001::naive, {16, 16, 16}},
      {"001", "shared", "16 x 16 tiles in shared memory", tutorial_001::shared, {16, 16, 16}},
      {"001", "registers", "4 x 4 results a thread, in registers", tutorial_001::registers, {64, 64, 16}},
      {.tutorial = "001",
       .name = "float4",
       .summary = "4 x 4 results a thread by 128-bit accesses, tiles transposed",
       .build = tutorial_001::float4,
       .tile = {64, 64, 16},
       .variant = tutorial_001::float4_variant},
      {"002", "naive", "one thread an element, 32 x 32 threads", tutorial_002::naive, {32, 32, 32}},
      {"002", "shared", "32 x 32 tiles in shared memory", tutorial_002::shared, {32, 32, 32}},
      {"003", "step1", "TVM: rows to blocks, columns to threads", tutorial_003::step1, {1, 32, 32}},
      {"003", "step2", "TVM: 32 x 32 tiles, 8 x 4 results a thread", tutorial_003::step2, {32, 32, 32}},
      {"003", "step3", "TVM: tiles in shared memory", tutorial_003::step3, {32, 32, 32}},
      {"004", "one", "one result a thread: 0.25 FLOP/byte", tutorial_004::one, {16, 16, 16}},
      {"004", "two_by_two", "2 x 2 results a thread: 0.5 FLOP/byte", tutorial_004::two_by_two, {32, 32, 32}},
      {"004", "tile32", "32 x 32 tiles: 8 FLOP/byte", tutorial_004::tile32, {32, 32, 32}},
      {"004",
       "tile64",
       "64 x 64 tiles, 4 x 4 results a thread: 16 FLOP/byte",
       tutorial_004::tile64,
       {64, 64, 64}},
      {"004",
       "divergent",
       "an if on the lane: every warp runs both sides",
       tutorial_004::divergent,
       {256},
       {1 << 16},
       {1 << 26}},
      {"004",
       "uniform",
       "an if on the warp: each runs one side",
       tutorial_004::uniform,
       {256},
       {1 << 16},
       {1 << 26}},
      {"004",
       "branch_free",
       "a select on the lane: both values, no branch",
       tutorial_004::branch_free,
       {256},
       {1 << 16},
       {1 << 26}},
      {"worklog", "1", "naive: 32 x 32 threads, down the rows", worklog::naive, {32, 32, 32}},
      {"worklog", "2", "coalesced", worklog::coalesced, {32, 32, 32}},
      {"worklog", "3", "32 x 32 tiles in shared memory", worklog::shared, {32, 32, 32}},
      {"worklog", "4", "64 x 64 x 8 tiles, 8 results a thread", worklog::tile1d, {64, 64, 8}},
      {"worklog", "5", "128 x 128 x 8 tiles, 8 x 8 results a thread", worklog::tile2d, {128, 128, 8}},
      {.tutorial = "worklog",
       .name = "6",
       .summary = "the same by 128-bit accesses, A transposed in shared memory",
       .build = worklog::vectorized,
       .tile = {128, 128, 8},
       .variant = worklog::vectorized_variant},
  };
  return rungs;
}

} // namespace nestsmith
