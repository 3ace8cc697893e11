#pragma once
/// Observes the instructions that the model of an SM (runtime/model/pipeline.h) executes. All times are clocks.

#include <cstddef>
#include <cstdint>

namespace nestsmith::model {

/// The reason why a warp does not issue its next instruction.
enum class Stall : std::uint8_t {
  barrier,    ///< other warps of the block have not arrived, or the barrier has just ended
  branch,     ///< the latency of a taken or untaken branch
  fixed,      ///< the stall count of the last instruction
  scoreboard, ///< a result is not in its register, or operands have not been read
  copies,     ///< groups of asynchronous copies are in flight
  matrix,     ///< the matrix unit is busy
  fetch,      ///< the code is not in the instruction cache
  queue,      ///< the queue of the pipe of shared memory is full
  scheduler   ///< the scheduler is busy or issues another warp
};

/// Units that execute one request or instruction at a time. `index` is 0, except for the matrix unit of each
/// scheduler.
enum class SmUnit : std::uint8_t { matrix, pipe, l2 };

struct SmObserver {
  SmObserver() = default;
  SmObserver(const SmObserver &) = delete;
  SmObserver &operator=(const SmObserver &) = delete;
  virtual ~SmObserver() = default;

  /// The scheduler issues an instruction of a warp, and issues no other one until `to`. The calls of `stall`
  /// and `issue` for a warp cover all clocks from 0 to its end, in order and without overlap.
  virtual void issue(int scheduler, int warp, std::size_t instruction, double from, double to) = 0;
  /// The warp waits before `instruction`.
  virtual void stall(int warp, Stall reason, std::size_t instruction, double from, double to) = 0;
  virtual void busy(SmUnit unit, int index, int warp, std::size_t instruction, double from, double to) = 0;
  /// A load or an asynchronous copy, from its issue to its result.
  virtual void flight(int warp, std::size_t instruction, double from, double to) = 0;
};

} // namespace nestsmith::model
