#pragma once
/// The machine code of a kernel, as far as it determines the time of the kernel.
///
/// Since sm_70, an instruction has 16 bytes. The compiler, not the hardware, resolves dependences: each
/// instruction contains the number of clocks before the next one of its warp, the *scoreboards* that must be
/// clear before it is issued, and those that it sets (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture
/// via Microbenchmarking", 2018, chapter 2). NVIDIA does not document the encoding.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::model {

enum class Unit : std::uint8_t {
  fp32,   ///< FFMA, FADD, FMUL
  matrix, ///< HMMA, IMMA
  shared_load,
  shared_store,
  ldmatrix,    ///< LDSM
  global_load, ///< also of local memory
  global_store,
  async_copy, ///< LDGSTS, from global to shared memory
  commit,     ///< LDGDEPBAR: ends a group of asynchronous copies
  wait,       ///< DEPBAR: until at most `pending` groups of the warp are in flight
  barrier,    ///< of the block
  branch,
  exit,
  other
};

struct Instruction {
  static constexpr std::uint8_t no_scoreboard = 7, no_register = 255;

  Unit unit = Unit::other;
  bool ffma = false;                    ///< FFMA, a part of `fp32`
  bool dp4a = false;                    ///< IDP.4A
  bool predicated = false;              ///< a branch or exit that some warps do not take
  std::uint8_t stall = 1;               ///< clocks before the next instruction of the warp
  std::uint8_t written = no_scoreboard; ///< scoreboard that is set until the result is in its register
  std::uint8_t read = no_scoreboard;    ///< scoreboard that is set until the operands have been read
  std::uint8_t waits = 0;               ///< mask of the scoreboards that must be clear
  int bytes = 0;                        ///< access size of one lane; of LDSM: the bytes that a lane receives
  int pending = 0;                      ///< of DEPBAR
  /// For FFMA: the register of each operand, and a mask of the operands that the register cache keeps.
  std::array<std::uint8_t, 3> operands = {no_register, no_register, no_register};
  std::uint8_t reuse = 0;
  std::int64_t target = -1; ///< of a branch: index of an instruction

  bool operator==(const Instruction &) const = default;
};

/// The instructions of the kernel `name` in the ELF file `cubin`. Empty if the file has no such kernel, or its
/// architecture is before sm_80.
std::vector<Instruction> machine_code(const std::vector<char> &cubin, const std::string &name);

/// For each instruction of the kernel: the line of the source, from 1, or 0 if it is unknown. Empty if the file
/// has no line table, which the compiler writes with the option --generate-line-info.
std::vector<int> source_lines(const std::vector<char> &cubin, const std::string &name);

/// The instructions that a backward branch spans.
struct CodeLoop {
  std::size_t begin = 0, end = 0;         ///< the first instruction, and the branch
  int fp32 = 0, matrix = 0, barriers = 0; ///< instructions in the loop
  bool contains(const CodeLoop &other) const { return begin <= other.begin && other.end <= end; }
};
/// The loops, the longest first.
std::vector<CodeLoop> loops(const std::vector<Instruction> &code);

/// The size of the machine code, and of each loop of 1 KB or more that contains no other such loop, in the
/// order of the code. Multiprocessors share caches of instructions, so loops of different blocks that execute
/// side by side compete for them (docs/gpu.md).
struct CodeBytes {
  std::size_t all = 0;
  std::vector<std::size_t> loops;
};
CodeBytes bytes_of(const std::vector<Instruction> &code);

} // namespace nestsmith::model
