#include "lowering/calls_in_flight.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsics.h"
#include "lowering/hazards.h"

#include <algorithm>

namespace nestsmith::kernel {

namespace {

const Call *as_started(const Stmt &stmt) {
  const auto *call = as<Call>(stmt);
  return call && call->intrinsic.get().asynchronous ? call : nullptr;
}

bool starts_calls(const Stmt &stmt) {
  bool found = false;
  walk(stmt, [&](const Stmt &node) { found = found || as_started(node); });
  return found;
}

/// Whether the statement only starts calls, so that they can be in one group.
bool is_group(const Stmt &stmt) {
  bool only = true;
  walk(stmt, [&](const Stmt &node) {
    only = only && (as_started(node) || as<Declare>(node) || as<Loop>(node) || as<Seq>(node));
  });
  return only && starts_calls(stmt);
}

/// The end of the statements from `first` on that are one group: they only start calls, or declare what the
/// next ones of them need. `first` if there is none.
std::size_t end_of_group(const std::vector<Stmt> &stmts, std::size_t first) {
  std::size_t end = first;
  for (std::size_t n = first; n < stmts.size() && (is_group(stmts[n]) || as<Declare>(stmts[n])); ++n)
    if (is_group(stmts[n]))
      end = n + 1;
  return end;
}

std::set<Buffer> sums_of(const Stmt &group) {
  std::set<Buffer> sums;
  walk(group, [&](const Stmt &node) {
    if (const Call *call = as_started(node))
      sums.insert(call->result().buffer);
  });
  return sums;
}

/// The calls that may be in flight before a statement, and the sums that the thread may have accessed.
struct State {
  std::set<Buffer> in_flight = {}; ///< sums of calls that no wait has completed
  std::set<Buffer> accessed = {};  ///< sums that the thread has accessed since the last begin

  void join(const State &other) {
    in_flight.insert(other.in_flight.begin(), other.in_flight.end());
    accessed.insert(other.accessed.begin(), other.accessed.end());
  }
  bool operator==(const State &) const = default;
};

/// A loop of which each iteration ends one group, and nothing is in flight before it.
struct SteadyLoop {
  const Loop *loop;
  std::vector<Stmt> body;
};

class Orderer {
public:
  explicit Orderer(const Kernel &kernel) : of_program_(kernel) {
    walk(kernel.body, [&](const Stmt &stmt) {
      if (const Call *call = as_started(stmt)) {
        sums_.insert(call->result().buffer);
        for (std::size_t n = 0; n < call->places.size(); ++n)
          if (call->intrinsic.get().operands[n].as<InTile>())
            tiles_[call->result().buffer].insert(call->places[n].buffer);
      }
    });
  }

  bool needed() const { return !sums_.empty(); }

  Stmt run(const Stmt &body) {
    State state;
    std::vector<Stmt> out;
    order(body, state, out);
    if (!state.in_flight.empty())
      out.push_back(wait(0, {}, state));
    return make_seq(std::move(out));
  }

private:
  /// Appends the statement, with what orders it.
  void order(const Stmt &stmt, State &state, std::vector<Stmt> &out) {
    if (is_group(stmt))
      return order_group(stmt, state, out);
    if (const auto *seq = as<Seq>(stmt))
      return order_seq(*seq, state, out);
    if (!starts_calls(stmt)) {
      settle_for(stmt, state, out);
      if (const std::vector<const Signal *> signals = freeing_signals(stmt); !signals.empty()) {
        if (!state.in_flight.empty())
          settle_before(signals, state, out);
        return out.push_back(stmt);
      }
      const auto *sync = as<Sync>(stmt);
      const bool orders = sync && sync->orders() && !state.in_flight.empty();
      Stmt left = orders ? settle_at_barrier(stmt, *sync, state, out) : stmt;
      note_accesses(stmt, state);
      if (const bool plain = !as<Loop>(stmt) && !as<If>(stmt); plain || state.in_flight.empty())
        return out.push_back(std::move(left));
    }
    settle_for_head(stmt, state, out);
    if (const auto *loop = as<Loop>(stmt)) {
      std::optional<Barrier> outer = std::exchange(after_loop_, std::nullopt);
      out.push_back(order_loop(stmt, *loop, state));
      if (after_loop_) { // the calls of the last iterations are in flight
        out.push_back(wait(0, after_loop_->hazards, state));
        out.push_back(make(*std::move(after_loop_)));
      }
      after_loop_ = std::move(outer);
    } else if (const auto *branch = as<If>(stmt))
      out.push_back(order_branch(stmt, *branch, state));
    else
      internal_error("a statement that starts calls is no loop, no branch and no sequence");
  }

  void order_seq(const Seq &seq, State &state, std::vector<Stmt> &out) {
    for (std::size_t n = 0; n < seq.stmts.size();)
      if (const std::size_t end = end_of_group(seq.stmts, n); end > n) {
        const auto first = seq.stmts.begin() + static_cast<std::ptrdiff_t>(n);
        order_group(make_seq({first, first + static_cast<std::ptrdiff_t>(end - n)}), state, out);
        n = end;
      } else {
        order(seq.stmts[n++], state, out);
      }
  }

  void order_group(const Stmt &group, State &state, std::vector<Stmt> &out) {
    const std::set<Buffer> sums = sums_of(group);
    std::vector<Hazard> accesses;
    std::vector<Buffer> of_program;
    for (const Buffer &sum : sums) {
      of_program.push_back(of_program_(sum));
      if (state.accessed.contains(sum))
        accesses.push_back({Hazard::Kind::read_after_write, of_program.back(), of_program.back()});
    }
    if (!accesses.empty()) {
      out.push_back(make(Begin{std::move(accesses)}));
      state.accessed.clear();
    }
    out.push_back(group);
    out.push_back(make(Commit{std::move(of_program), Queue::calls}));
    state.in_flight.insert(sums.begin(), sums.end());
  }

  /// The body of a loop may start in the state that its end leaves. That state follows after at most two walks:
  /// a walk only adds what the statements of the body add.
  Stmt order_loop(const Stmt &stmt, const Loop &loop, State &state) {
    const std::optional<SteadyLoop> outer = steady_;
    State before = state;
    for (;;) {
      steady_.reset();
      after_loop_.reset();
      if (state.in_flight.empty() && ends_one_group(loop.body))
        steady_ = SteadyLoop{&loop, statements_of(loop.body)};
      State at_end = before;
      std::vector<Stmt> body;
      order(loop.body, at_end, body);
      State all = before;
      all.join(at_end);
      if (all == before) {
        steady_ = outer;
        state = std::move(before);
        Loop copy = loop;
        copy.body = make_seq(std::move(body));
        return make(std::move(copy), stmt->origin);
      }
      before = std::move(all);
    }
  }

  Stmt order_branch(const Stmt &stmt, const If &branch, State &state) {
    const std::optional<SteadyLoop> outer = std::exchange(steady_, std::nullopt);
    If copy = branch;
    State other = state;
    std::vector<Stmt> body, otherwise;
    order(branch.body, state, body);
    copy.body = make_seq(std::move(body));
    if (branch.otherwise) {
      order(branch.otherwise, other, otherwise);
      copy.otherwise = make_seq(std::move(otherwise));
    }
    state.join(other);
    steady_ = outer;
    return make(std::move(copy), stmt->origin);
  }

  /// Waits for all calls before a statement that accesses their sums, or in which a statement does.
  void settle_for(const Stmt &stmt, State &state, std::vector<Stmt> &out) {
    std::vector<Hazard> accesses;
    walk(stmt, [&](const Stmt &node) { add_accesses(node, state, accesses); });
    if (!accesses.empty())
      out.push_back(wait(0, std::move(accesses), state));
  }
  /// The same for the extent of a loop or the condition of a branch alone.
  void settle_for_head(const Stmt &stmt, State &state, std::vector<Stmt> &out) {
    std::vector<Hazard> accesses;
    add_accesses(stmt, state, accesses);
    if (!accesses.empty())
      out.push_back(wait(0, std::move(accesses), state));
  }
  void add_accesses(const Stmt &stmt, const State &state, std::vector<Hazard> &accesses) const {
    each_access(stmt, [&](const Buffer &buffer, const Buffer &by) {
      if (state.in_flight.contains(buffer))
        add_hazards(accesses, {{Hazard::Kind::read_after_write, of_program_(buffer), of_program_(by)}});
    });
  }
  void note_accesses(const Stmt &stmt, State &state) const {
    walk(stmt, [&](const Stmt &node) {
      each_access(node, [&](const Buffer &buffer, const Buffer &) {
        if (sums_.contains(buffer))
          state.accessed.insert(buffer);
      });
    });
  }

  /// Waits before a barrier: after it, other threads may overwrite the tiles that calls read. If the latest
  /// groups stay in flight, the barrier does not order what overwrites their tiles after the loop: a second one
  /// after the loop does. Returns the barrier, with what it orders: both order the stores of threads in the
  /// loop and what comes after it.
  Stmt settle_at_barrier(const Stmt &stmt, const Sync &sync, State &state, std::vector<Stmt> &out) {
    std::vector<Hazard> overwritten, after;
    for (const Hazard &hazard : sync.hazards())
      for (const Buffer &sum : state.in_flight)
        if (hazard.kind == Hazard::Kind::write_after_read && hazard.reader == of_program_(sum))
          add_hazards(is_after_loop(hazard) ? after : overwritten, {hazard});
    const auto *barrier = as<Barrier>(stmt);
    const std::int64_t pending = barrier ? newer_groups(stmt, overwritten, state) : 0;
    if (pending == 0)
      add_hazards(overwritten, std::exchange(after, {}));
    out.push_back(wait(pending, std::move(overwritten), state));
    if (after.empty())
      return stmt;
    Barrier of_loop = *barrier;
    std::erase_if(of_loop.hazards, [&](const Hazard &hazard) { return is_after_loop(hazard); });
    if (!after_loop_)
      after_loop_ = {barrier->scope, {}, barrier->role};
    add_hazards(after_loop_->hazards, after);
    return make(std::move(of_loop), stmt->origin);
  }

  /// Whether the write of a hazard in the steady loop is after this loop: in an iteration of a loop around it,
  /// or in no loop, to an array that the loop does not write.
  bool is_after_loop(const Hazard &hazard) const {
    if (!steady_ || hazard.loop == of_program_(steady_->loop->var))
      return false;
    bool written = false;
    walk(steady_->loop->body, [&](const Stmt &node) {
      const Buffer of = written_by(node);
      written = written || (of && of_program_(of) == hazard.buffer);
    });
    return hazard.loop || !written;
  }

  /// The signals of the statement, or of what it guards, if all of it frees slots: one for each channel.
  static std::vector<const Signal *> freeing_signals(const Stmt &stmt) {
    const auto *branch = as<If>(stmt);
    std::vector<const Signal *> signals;
    for (const Stmt &part : statements_of(branch && !branch->otherwise ? branch->body : stmt)) {
      const auto *signal = as<Signal>(part);
      if (!signal || signal->event != Event::freed)
        return {};
      signals.push_back(signal);
    }
    return signals;
  }

  /// Waits before slots are freed: after it, the warps of roles may overwrite the tiles that calls read.
  void settle_before(const std::vector<const Signal *> &signals, State &state, std::vector<Stmt> &out) {
    std::int64_t newer = steady_ ? signals.front()->newer_groups : 0;
    std::vector<Hazard> hazards;
    for (const Signal *signal : signals) {
      newer = std::min(newer, signal->newer_groups);
      add_hazards(hazards, {signal->hazards.begin(), signal->hazards.end()});
    }
    out.push_back(wait(newer, std::move(hazards), state));
  }

  /// The number of the latest groups whose tiles nothing overwrites before the next iteration reaches the
  /// barrier. 0 if the loop is not steady, or if the certificate does not have all tiles.
  /// Calls of iteration i read a copy that is overwritten in iteration i + d. The last barrier before this
  /// write is in iteration i + d, or in the one before if the write precedes the barrier in the body. Up to
  /// it, the newer groups are those of the iterations after i.
  std::int64_t newer_groups(const Stmt &barrier, std::span<const Hazard> overwritten,
                            const State &state) const {
    if (!steady_)
      return 0;
    const std::vector<Stmt> &body = steady_->body;
    const auto at = std::ranges::find(body, barrier);
    if (at == body.end())
      return 0;
    const bool calls_first = std::any_of(body.begin(), at, starts_calls);
    std::optional<std::int64_t> least;
    for (const Buffer &sum : state.in_flight)
      for (const Buffer &tile : tiles_.at(sum)) {
        const auto hazard = std::ranges::find_if(overwritten, [&](const Hazard &known) {
          return known.buffer == of_program_(tile) && known.reader == of_program_(sum) && !known.tenant;
        });
        if (hazard == overwritten.end() || hazard->loop != of_program_(steady_->loop->var))
          return 0;
        const bool write_first = std::any_of(body.begin(), at, [&](const Stmt &stmt) {
          bool writes = false;
          walk(stmt, [&](const Stmt &node) { writes = writes || written_by(node) == tile; });
          return writes;
        });
        const std::int64_t newer = hazard->distance - (write_first ? 1 : 0) - (calls_first ? 0 : 1);
        least = std::min(least.value_or(newer), newer);
      }
    return std::max<std::int64_t>(least.value_or(0), 0);
  }

  static std::vector<Stmt> statements_of(const Stmt &body) {
    const auto *seq = as<Seq>(body);
    return seq ? seq->stmts : std::vector{body};
  }
  /// Whether the statements of a body have one group: each iteration executes it.
  static bool ends_one_group(const Stmt &body) {
    const std::vector<Stmt> stmts = statements_of(body);
    std::int64_t groups = 0;
    for (std::size_t n = 0; n < stmts.size(); ++n)
      if (const std::size_t end = end_of_group(stmts, n); end > n) {
        ++groups;
        n = end - 1;
      } else if (starts_calls(stmts[n])) {
        return false;
      }
    return groups == 1;
  }

  Stmt wait(std::int64_t pending, std::vector<Hazard> hazards, State &state) const {
    Wait made{pending, std::move(hazards), Queue::calls, {state.in_flight.begin(), state.in_flight.end()}};
    if (pending == 0)
      state.in_flight.clear();
    return make(std::move(made));
  }

  OfProgram of_program_;
  std::set<Buffer> sums_;
  std::map<Buffer, std::set<Buffer>> tiles_; ///< that the calls with these sums read
  std::optional<SteadyLoop> steady_;         ///< the innermost loop around the statement, if it is steady
  std::optional<Barrier> after_loop_;        ///< what orders the last calls of the innermost loop, after it
};

} // namespace

void order_calls(Kernel &kernel) {
  if (Orderer orderer(kernel); orderer.needed())
    kernel.body = orderer.run(kernel.body);
}

} // namespace nestsmith::kernel
