#pragma once
/// How a random schedule is written: author.cpp begins and mends it, author_nest.cpp schedules one nest, and
/// author_warps.cpp one for warps.

#include "schedules/tensor/tiles.h"
#include "tests/fuzz/author.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/user_intrinsics.h"
#include "tests/fuzz/wander.h"

#include <initializer_list>

namespace nestsmith::fuzz {

using Names = std::vector<std::string>;

/// The purposes of the parts of the loops of a nest.
struct Roles {
  Names blocks, parts, threads, k_outer, k_inner, inner;
  Names all() const {
    Names names;
    for (const Names *part : {&blocks, &parts, &threads, &k_outer, &k_inner, &inner})
      names.insert(names.end(), part->begin(), part->end());
    return names;
  }
};

/// How a product is distributed over the warps of a block.
struct WarpTile {
  std::int64_t rows, columns; ///< of warps
  tensor::Instruction unit;
  bool call; ///< the matrix unit computes it, otherwise each lane its own elements
  std::string warp = {}, k_outer = {}, k_step = {}; ///< loops
  std::string batch = {};                           ///< the index of a batch, in maps: "b, " or nothing
};

/// Whether a tensor map may describe the array: its rows start at multiples of 16 bytes.
bool has_map(const BufferNode &array);

class Author {
public:
  Author(Draft &draft, Random &random, const std::function<void(const Draft &, const Directive &)> &about_to)
      : draft_(draft), s_(draft.schedule), random_(random), apart_(Random(random).below(std::size_t{1} << 40)),
        clusters_(Random(apart_).below(std::size_t{1} << 40)),
        stores_(Random(clusters_).below(std::size_t{1} << 40)), about_to_(about_to) {}

  void write();
  void write_for_warps();
  void go_on(std::size_t arbitrary);

private:
  bool chance(std::size_t percent) { return random_.chance(percent); }
  /// Whether it was applied.
  bool go(const std::string &op, std::vector<Argument> arguments);
  bool go(const Directive &directive);
  const Names &results() const { return s_.trace().back().results; }
  void wander() { go(any_directive(s_, random_)); }

  /// Brings stages that use the same buffer under common loops, before their loops are tiled.
  void weave();
  /// Brings a sum in shared or local memory under a loop of its reader, and takes its init apart.
  void sum_at_its_reader();
  /// Binds loops of inits that have loops of their own, whatever binds those of the updates.
  void bind_inits();
  /// Brings as many stages as possible under one loop, with local temporaries, so that little is owed.
  void one_nest();
  /// Whether blocks conflict in a parameter.
  bool tangled() const;

  // ---- looking

  const Stmt &body() const { return s_.program().body; }
  const Block &block(const std::string &name) const { return *find_block(body(), s_.block(name).id); }
  bool has_block(const std::string &name) const;
  bool has_loop(const std::string &name) const;
  std::string any_block() { return random_.pick(blocks_of(body()))->id->name; }
  std::vector<const For *> loops(const std::string &name) const;
  std::vector<const For *> serial_loops(const std::string &name) const;
  bool is_below(const std::string &name,
                const std::string &loop) const; ///< whether the loop is around the block
  static bool sums(const Block &block, const Var &loop);
  /// Whether the last index of two operands is the axis of the sum, so that dot4 may replace it.
  static bool is_dot(const Block &block);
  /// The block that a schedule is built around: a sum, if there is one.
  std::string anchor();
  Stmt nest_of(const std::string &name) const;
  /// Extents of the thread axes in the nest of a block.
  std::map<Axis, std::int64_t> threads_of_nest(const std::string &name) const;
  const Block *unbound_block() const;

  // ---- one nest

  void schedule_nest(std::string name, bool elaborate);
  void place_result(const std::string &name);
  /// Lets threads combine the results of a reduction, and read them. False if nothing was done.
  bool reduce_across_threads(const std::string &name);
  bool has_shared_operand(const std::string &name) const;
  std::string copy_of_operand(const std::string &name);
  std::string partial_sums(const std::string &name);
  Roles tile(const std::string &name);
  /// Each part of the sum is added by atomics where it is complete.
  void add_by_atomics(const std::string &sum, const Roles &roles);
  /// The last block of a tile executes the sum of the partial sums.
  void sum_in_last_block(const std::string &sum, const Roles &roles);
  /// block, thread and own part of a loop; some of them.
  void tile_spatial(const std::string &loop, Roles &roles, std::int64_t &threads);
  void tile_sum(const std::string &loop, Roles &roles, std::int64_t width);
  bool reads_bytes(const std::string &name) const; ///< whether the block reads i8 or u8
  /// The intrinsic that may replace a loop of the block, or null.
  const Fit *fit_of(const std::string &name) const;
  void order(Roles &roles);
  void fuse_some(Names &names, std::size_t percent);
  /// A loop to bring a nest under: mostly where it is of use.
  std::string place(std::initializer_list<const Names *> preferred);
  void bring_consumers(const std::string &name, Roles &roles);
  /// The result is computed in faster memory and copied out.
  void through_cache(const std::string &name, const Roles &roles);
  void bind(const Names &names, std::vector<Axis> axes);

  // ---- caches

  void fetch(const std::string &reader, const std::string &operand, const Roles &roles);
  /// Brings a copy under a loop, and gives its elements to the threads, or to each.
  void bring(const std::string &copy, const std::string &at, bool cooperative);
  void share(const std::string &copy);
  /// Vectorizes the innermost loop of a copy, or unrolls it. If its vectors may be partial, the copy mostly
  /// becomes an asynchronous one first.
  void by_lanes(const std::string &copy, const std::string &lanes);
  /// All elements in one row, dealt out to all threads.
  void share_fused(Names own, const std::map<Axis, std::int64_t> &threads);
  /// An axis for each dimension.
  void share_each(const Names &own, const std::map<Axis, std::int64_t> &threads);

  // ---- time and annotations

  /// The operand in shared memory, and a copy of what a step of the sum needs in registers. The threads may
  /// load the tile to registers before they store it.
  void fetch_ahead(const std::string &reader, const std::string &operand, const Roles &roles);
  void overlap(const Roles &roles);
  bool join(const std::string &loop);
  /// Cuts a loop, mostly that of the steps of the sum. Later directives take one of its parts.
  void cut_some(Roles &roles);
  void annotate(const std::string &name, const Roles &roles);
  /// Reverses the innermost loop of a block in odd iterations of the loop around it.
  void snake(const std::string &name);

  // ---- warps

  Names split(const std::string &loop, std::vector<std::int64_t> factors); ///< empty if refused
  Names loops_inside(const std::string &name, const std::string &outer) const;
  /// Binds 8 rows and 4 groups of `width` columns to the lanes.
  void to_lanes(const std::string &row, const std::string &column, std::int64_t width);
  std::string sums_in_fragment(const std::string &name);
  void product_of_warps(const std::string &name, Names around);
  bool has_units() const; ///< that read tiles themselves, for this dtype and target
  void product_of_units(const std::string &name, Names around);
  void clear_by_lanes(const std::string &name, const WarpTile &tile);
  void overlap_for_warps(const std::string &name, const Names &fragments, const WarpTile &tile);
  std::string operand_of_warps(const std::string &name, const std::string &operand, const WarpTile &tile);
  void load_fragment(const std::string &fragment, bool a, bool along_k, bool from_shared, const WarpTile &tile);
  void share_among_warps(const std::string &copy, bool a, bool along_k, const WarpTile &tile);
  void sums_of_warps(const std::string &name, const Names &around);

  // ---- results in boxes

  /// Lets a block of results write a tile in shared memory. Returns the block that stores it, or "" if there is
  /// none. If bulk stores are possible, the tile has this chance.
  std::string tile_of_results(const std::string &out, std::size_t percent);
  /// Stores the tile in bulk, below the loop over warps. Returns the loop around the results of one tile. The
  /// sums must not be decomposed yet.
  std::string store_in_boxes(const std::string &store, const std::string &out, const std::string &warp);

  // ---- warps that call an intrinsic of a user

  void product_by_call(const std::string &name, const Names &around);
  /// Splits two loops into the bits of their indices, and binds those of the lane.
  void bits_to_lanes(const std::string &first, const std::string &second, const BitLayout &layout);

  // ---- what is owed

  /// A few tries to pay what the schedule owes, as its messages say.
  void mend();
  void pay(const Obligation &owed);
  /// Brings the blocks that use a buffer under common loops, or the buffer into wider memory.
  void bring_together(const Obligation &owed, Scope wider);
  void pay_by_binding(const std::string &culprit, Axis axis);
  /// Gives each statement in the body of a loop a loop of its own, if there are several.
  void divide_a_loop();
  /// Takes the last terms of the first sum that a temporary keeps out of it.
  void cut_terms();
  void split_at_launch(); ///< splits a loop by the size of no array, if the program has one
  /// Cuts the outermost loop of a nest, and binds both parts to blocks, so that they may share a launch.
  void cut_to_blocks();
  /// Launches nests together that follow each other, if nothing is owed for it.
  void share_launches();

  Draft &draft_;
  Schedule &s_;
  Random &random_;
  Random apart_;    ///< for what leaves the choices by `random_` as they are
  Random clusters_; ///< the same for clusters, and those by `apart_`
  Random stores_;   ///< the same for bulk stores, and those by `clusters_`
  const std::function<void(const Draft &, const Directive &)> &about_to_;
  std::size_t most_ = most_directives;
  std::size_t limit_ = most_directives - 5; ///< the last ones are for what is owed
  Names dots_;                              ///< loops that an intrinsic may replace
  bool ahead_ = false;                      ///< tiles of the sum come ahead of their use
  std::string part_; ///< the loop over partial sums that blocks share with one counter; empty: none
  Names to_share_; ///< blocks on shared memory whose elements the threads are to share, once there are threads
};

} // namespace nestsmith::fuzz
