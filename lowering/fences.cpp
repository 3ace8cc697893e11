#include "lowering/fences.h"

#include "dsl/ir/intrinsic.h"
#include "lowering/hazards.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace nestsmith::kernel {

namespace {

/// The shared buffers that threads read themselves: by loads, or as rows of a call.
std::set<Buffer> read_by_threads(const Kernel &kernel) {
  std::set<Buffer> read;
  walk(kernel.body, [&](const Stmt &stmt) {
    const auto *call = as<Call>(stmt);
    for (std::size_t n = 0; call && n < call->places.size(); ++n)
      if (const Intrinsic &intrinsic = call->intrinsic;
          intrinsic.operands[n].as<Rows>() && intrinsic.operands[n].formal != intrinsic.result().formal)
        read.insert(call->places[n].buffer);
  });
  walk_exprs(kernel.body, [&](const Expr &e) {
    if (const auto *access = e.as<Load>(); access && access->buffer->scope == Scope::shared)
      read.insert(access->buffer);
  });
  return read;
}

class Fencer {
public:
  explicit Fencer(const Kernel &kernel) {
    const OfProgram of_program(kernel);
    const std::set<Buffer> bulk = bulk_tiles(kernel), read = read_by_threads(kernel);
    for (const Buffer &tile : tiles_of_units(kernel))
      if (!bulk.contains(tile))
        written_by_threads_.insert(of_program(tile));
    for (const Buffer &tile : stored_tiles(kernel))
      written_by_threads_.insert(of_program(tile));
    for (const Buffer &tile : bulk)
      if (read.contains(tile))
        read_by_threads_.insert(of_program(tile));
  }

  bool needed() const { return !written_by_threads_.empty() || !read_by_threads_.empty(); }

  Stmt rewrite(const Stmt &stmt) const {
    const auto *sync = as<Sync>(stmt);
    if (const auto *signal = as<Signal>(stmt); signal && signal->event == Event::freed)
      return before(stmt, {Hazard::Kind::write_after_read, read_by_threads_, signal->hazards});
    if (!sync || (!sync->orders() && !as<Await>(stmt)))
      return map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
    const Needed reads{
        Hazard::Kind::read_after_write, written_by_threads_, {sync->hazards().begin(), sync->hazards().end()}};
    return as<Await>(stmt) ? after(stmt, reads) : before(stmt, reads);
  }

private:
  /// The hazards of this kind that meet one of the tiles.
  struct Needed {
    Hazard::Kind kind;
    const std::set<Buffer> &tiles;
    std::vector<Hazard> hazards;

    Stmt fence() const {
      std::vector<Hazard> met = hazards;
      std::erase_if(
          met, [&](const Hazard &hazard) { return hazard.kind != kind || !tiles.contains(hazard.buffer); });
      return met.empty() ? nullptr : make(Fence{std::move(met)});
    }
  };

  static Stmt before(const Stmt &stmt, const Needed &needed) {
    Stmt fence = needed.fence();
    return fence ? make_seq({fence, stmt}) : stmt;
  }
  static Stmt after(const Stmt &stmt, const Needed &needed) {
    Stmt fence = needed.fence();
    return fence ? make_seq({stmt, fence}) : stmt;
  }

  // Of the program, like the hazards.
  std::set<Buffer> written_by_threads_; ///< tiles that threads fill, and matrix units read
  std::set<Buffer> read_by_threads_;    ///< tiles that bulk copies fill, and threads read
};

} // namespace

void add_fences(Kernel &kernel) {
  if (const Fencer fencer(kernel); fencer.needed())
    kernel.body = fencer.rewrite(kernel.body);
}

bool is_read_by_threads(const Kernel &kernel, const Channel &channel) {
  const OfProgram of_program(kernel);
  return std::ranges::any_of(read_by_threads(kernel), [&](const Buffer &tile) {
    return std::ranges::find(channel.tiles, of_program(tile)) != channel.tiles.end();
  });
}

} // namespace nestsmith::kernel
