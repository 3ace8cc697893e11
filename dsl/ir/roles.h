#pragma once
/// Roles of warps. Blocks that copy tiles of a pipelined loop to shared memory may have warps of their own,
/// which run ahead of the warps that read the tiles. All other blocks have the *main* role. A role does not
/// affect the meaning of a program.
///
///     for k < n pipelined [A_shared: 0, AB: 2]:        warps of the role:       warps of the main role:
///       A_shared: …                                    for k < n:               for k < n:
///       AB: … A_shared …                         =>      await the slot           await the tile
///                                                        A_shared of k            AB of k
///                                                        the tile is filled       the slot is free
///
/// The tiles of a role have as many copies (slots) as the stages of the pipeline give them. Each role has a
/// *channel*: the events by which its warps and those of the main role pass the slots to each other.

#include "dsl/ir/pipeline.h"
#include "dsl/ir/program.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// The position of the block's role in `program.roles`; none: the main role. A part of a block, or its init,
/// has the role of the block.
std::optional<std::size_t> role_of(const Program &program, const BlockId &block);
/// The role that all blocks below the loop have; none: the main role.
std::optional<std::size_t> role_of(const Program &program, const For &loop);
/// Whether a block of the nest has the role.
bool has_block(const Stmt &nest, const WarpRole &role);
/// The statement without the blocks of other roles; null if no block is left.
Stmt only_role(const Program &program, const Stmt &stmt, std::optional<std::size_t> role);

/// The extents on the thread axes (dsl/ir/allocation.h) of the loops that a role binds in the nest.
std::map<Axis, std::int64_t> thread_extents(const Program &program, const Stmt &nest,
                                            std::optional<std::size_t> role);
/// Their product: the threads of the role in the nest.
std::int64_t threads_of_role(const Program &program, const Stmt &nest, std::optional<std::size_t> role);
/// The threads of the main role, and of all roles with a block in the nest, which have the warps that they
/// state.
std::int64_t threads_of_roles(const Program &program, const Stmt &nest);

/// The 32-bit registers of a multiprocessor of each architecture that moves them between warps (`setmaxnreg`),
/// or has matrix units that read their tiles themselves. A thread has a multiple of `unit_of_registers`.
inline constexpr std::int64_t registers_of_sm = 65536, unit_of_registers = 8;

/// Registers of a nest in which a role states them: an SM has one block, whose threads start with `at_launch`
/// each. The roles take `of_roles` of all, and a thread of the main role gets `main` of what is left: at least
/// `fewest_registers`, which `setmaxnreg` takes, if the stated numbers fit. If no role states any, `main` is 0.
struct RoleRegisters {
  std::int64_t at_launch = 0, of_roles = 0, main = 0;
  /// The registers of a thread of a role.
  std::int64_t of(const WarpRole &role) const {
    return role.registers != 0 || main == 0 ? role.registers : at_launch;
  }
};
inline constexpr std::int64_t fewest_registers = 24;
/// `main` and `all`: the threads of the main role, and of all roles.
RoleRegisters role_registers(const Program &nest, std::int64_t main, std::int64_t all);

/// The tiles that the warps of a role fill for those of the main role.
struct RoleChannel {
  const For *loop;           ///< the pipelined loop: one fill of the tiles in each iteration
  std::vector<Buffer> tiles; ///< the shared arrays that the role writes
  std::int64_t slots;        ///< fills that no reader has released
  std::int64_t in_flight;    ///< iterations in which calls of matrix units of the readers run on
};
/// `program` is one nest that satisfies `find_role_breach`.
RoleChannel channel_of(const Program &program, const WarpRole &role);
/// The bytes of shared memory that the events of all channels need: two of 8 bytes for each slot.
std::int64_t channel_bytes(const Program &program);

/// A requirement of a complete schedule that a role violates.
struct RoleBreach {
  std::string message;
  std::string culprit; ///< name of a block or a loop to underline
};
/// `program` is one nest. Checks that
///   - a role only copies from global memory to shared arrays, which only it writes and only the main role
///   reads;
///   - all its tiles are those of one pipelined loop, whose readers have one stage;
///   - of a loop that has a last block, only the main role continues;
///   - the blocks of a role have as many threads on threadIdx.x as its warps, but for bulk copies, which one
///     thread issues; those of the main role have whole warps. Roles with registers have whole groups of four
///     warps, an SM has one block, and they leave enough registers to the main role.
std::optional<RoleBreach> find_role_breach(const Program &program);

} // namespace nestsmith
