#include "runtime/model/pipeline.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace nestsmith::model {

namespace {

/// Clocks. `shared_latency` is about that of an H100 (Luo et al., "Benchmarking and Dissecting the Nvidia
/// Hopper GPU Architecture", 2024). The register window is from Huerta et al. The others are not published.
/// They were chosen from round numbers by the measurements of docs/tuning.md.
constexpr double shared_latency = 29, read_latency = 12, other_latency = 6, barrier_latency = 20,
                 branch_latency = 20, register_window = 3;
/// Requests of a scheduler that wait for the pipe of shared memory.
constexpr std::size_t queue_size = 16;
/// A scheduler caches 32 KiB of code and fetches a line of 128 bytes in 20 clocks: on an H200, loops of 50 KiB
/// take 3 clocks for each instruction if a scheduler has one warp, and loops of 20 KiB take less than 2.
constexpr std::size_t code_lines = 256, line_instructions = 8, lines_ahead = 2;
constexpr double line_clocks = 20;

constexpr double never = std::numeric_limits<double>::infinity();

bool is_memory(Unit unit) { return unit >= Unit::shared_load && unit <= Unit::async_copy; }
bool is_load(Unit unit) { return is_memory(unit) && unit != Unit::shared_store && unit != Unit::global_store; }

/// The instruction cache of a scheduler. A new line replaces an arbitrary one.
class CodeCache {
public:
  explicit CodeCache(std::size_t instructions) : ready_(instructions / line_instructions + 1, never) {}

  /// The clock from which this instruction is available.
  double ready(std::size_t instruction, double now) {
    std::size_t line = instruction / line_instructions;
    fetch(line, now);
    double result = ready_[line];
    for (std::size_t next = line + 1; next <= line + lines_ahead; ++next)
      fetch(next, now);
    return result;
  }

private:
  void fetch(std::size_t line, double now) {
    if (line >= ready_.size() || ready_[line] < never)
      return;
    free_ = std::max(now, free_) + line_clocks;
    ready_[line] = free_;
    if (cached_.size() < code_lines) {
      cached_.push_back(line);
      return;
    }
    random_ = random_ * 1664525U + 1013904223U;
    std::size_t &replaced = cached_[(random_ >> 8) % cached_.size()];
    ready_[replaced] = never;
    replaced = line;
  }

  std::vector<double> ready_; ///< `never`: not in the cache
  std::vector<std::size_t> cached_;
  double free_ = 0;
  std::uint32_t random_ = 1;
};

/// The two register banks of a scheduler, and the cache of the operands with a reuse flag.
class Registers {
public:
  /// The clocks in which this FFMA of a warp prevents the next instruction.
  double issue(const Instruction &ffma, int warp, double now) {
    std::array<int, 2> reads = {};
    for (std::size_t n = 0; n < ffma.operands.size(); ++n) {
      int reg = ffma.operands[n];
      if (reg == Instruction::no_register)
        continue;
      std::size_t bank = reg % 2;
      Kept &kept = kept_[bank][n];
      bool read_before =
          std::find(ffma.operands.begin(), ffma.operands.begin() + n, reg) != ffma.operands.begin() + n;
      reads[bank] += !read_before && (kept.warp != warp || kept.reg != reg);
      kept = ffma.reuse >> n & 1 ? Kept{warp, reg} : Kept{};
    }
    double busy = 0;
    for (std::size_t bank = 0; bank < reads.size(); ++bank) {
      free_[bank] = std::max(free_[bank], now) + reads[bank];
      busy = std::max(busy, free_[bank] - now);
    }
    return std::max(1.0, busy - register_window + 1);
  }

private:
  struct Kept {
    int warp = -1, reg = -1;
  };
  std::array<std::array<Kept, 3>, 2> kept_; ///< by bank and by position of the operand
  std::array<double, 2> free_ = {};
};

struct WarpState {
  std::size_t next = 0; ///< instruction
  std::size_t block = 0;
  double ready = 0;
  std::array<double, 8> clear = {}; ///< for each scoreboard: the clock from which it is clear
  double copied = 0;                ///< the clock at which all asynchronous copies issued so far are complete
  std::vector<double> groups;       ///< the same for each group
  std::vector<std::int64_t> iterations;
  bool waits = false, done = false;
};

/// For an observer: the times up to which a warp was delayed, and the clock at which it issued its last
/// instruction completely.
struct ObservedWarp {
  double issued = 0, barrier = 0, fetch = 0, queue = 0;
  bool branched = false;
};

struct Scheduler {
  explicit Scheduler(std::size_t instructions) : code(instructions) {}
  std::vector<int> warps;
  int last = 0; ///< position in `warps`
  double free = 0, matrix_free = 0;
  std::deque<double> queue; ///< the clocks at which the waiting requests enter the pipe
  Registers registers;
  CodeCache code;
};

class Sm {
public:
  explicit Sm(const SmWork &work);
  double run();

private:
  double ready(Scheduler &scheduler, int number);
  int choose(Scheduler &scheduler, double &next);
  void issue(Scheduler &scheduler, int number);
  double access(Scheduler &scheduler, const Instruction &instruction, int number);
  void observe_stalls(const Scheduler &scheduler, int number);
  void observe_issue(const Scheduler &scheduler, int number, double busy);
  void follow(WarpState &warp);
  void arrive(WarpState &warp);
  void release(std::size_t block);
  double latency(double clocks) const { return work_.left_out.latency ? 0 : clocks; }

  const SmWork &work_;
  const std::vector<Instruction> &code_;
  std::vector<WarpState> warps_;
  std::vector<Scheduler> schedulers_;
  std::vector<int> arrived_, live_;    ///< warps of each block
  std::vector<int> back_;              ///< for each instruction: the loop that it ends, or -1
  std::vector<ObservedWarp> observed_; ///< empty without an observer
  double now_ = 0, pipe_ = 0, l2_ = 0;
  std::size_t left_ = 0;
};

Sm::Sm(const SmWork &work)
    : work_(work), code_(*work.code), schedulers_(work.schedulers, Scheduler(work.code->size())),
      arrived_(work.blocks), live_(work.blocks, work.warps), back_(work.code->size(), -1) {
  for (std::size_t n = 0; n < work.loops.size(); ++n)
    back_[work.loops[n].end] = static_cast<int>(n);
  for (int n = 0; n < work.warps * work.blocks; ++n) {
    WarpState &warp = warps_.emplace_back();
    warp.block = static_cast<std::size_t>(n / work.warps);
    warp.iterations.resize(work.loops.size());
    schedulers_[static_cast<std::size_t>(n % work.schedulers)].warps.push_back(n);
  }
  left_ = warps_.size();
  if (work.observer)
    observed_.resize(warps_.size());
}

double Sm::run() {
  while (left_ > 0) {
    bool issued = false;
    double next = never;
    for (Scheduler &scheduler : schedulers_) {
      int warp = choose(scheduler, next);
      if (warp < 0)
        continue;
      issue(scheduler, warp);
      issued = true;
    }
    if (!issued && next == never)
      break; // the path through the code ends inside of a barrier
    now_ = issued ? now_ + 1 : std::max(now_ + 1, next);
  }
  return std::max(now_, pipe_);
}

/// The clock from which the next instruction of the warp can be issued.
double Sm::ready(Scheduler &scheduler, int number) {
  const WarpState &warp = warps_[static_cast<std::size_t>(number)];
  const Instruction &instruction = code_[warp.next];
  double result = warp.ready;
  for (std::size_t n = 0; n < 6; ++n)
    if (instruction.waits >> n & 1)
      result = std::max(result, warp.clear[n]);
  if (instruction.unit == Unit::matrix)
    result = std::max(result, scheduler.matrix_free);
  auto pending = static_cast<std::size_t>(instruction.pending);
  if (instruction.unit == Unit::wait && warp.groups.size() > pending)
    result = std::max(result, *(warp.groups.rbegin() + instruction.pending));
  if (result > now_)
    return result;
  double fetched = work_.left_out.fetch ? now_ : scheduler.code.ready(warp.next, now_);
  result = std::max(result, fetched);
  if (!observed_.empty())
    observed_[static_cast<std::size_t>(number)].fetch = fetched;
  if (is_memory(instruction.unit)) {
    while (!scheduler.queue.empty() && scheduler.queue.front() <= now_)
      scheduler.queue.pop_front();
    if (scheduler.queue.size() >= queue_size) {
      result = std::max(result, scheduler.queue[scheduler.queue.size() - queue_size]);
      if (!observed_.empty())
        observed_[static_cast<std::size_t>(number)].queue = result;
    }
  }
  return result;
}

/// The warp whose instruction is issued in this clock, or -1. Then `next` is the next clock at which a warp may
/// be ready.
int Sm::choose(Scheduler &scheduler, double &next) {
  if (scheduler.free > now_) {
    next = std::min(next, scheduler.free);
    return -1;
  }
  int count = static_cast<int>(scheduler.warps.size());
  for (int n = -1; n < count; ++n) {
    int position = n < 0 ? scheduler.last : n;
    if (position >= count)
      continue;
    int number = scheduler.warps[static_cast<std::size_t>(position)];
    const WarpState &warp = warps_[static_cast<std::size_t>(number)];
    if (warp.done || warp.waits)
      continue;
    double from = ready(scheduler, number);
    if (from <= now_) {
      scheduler.last = position;
      return number;
    }
    next = std::min(next, from);
  }
  return -1;
}

/// The clocks of the pipe for a request to shared memory of this size.
double wavefronts(const std::map<int, double> &known, int bytes) {
  auto found = known.find(bytes);
  return found != known.end() ? found->second : std::max(1.0, bytes / 4.0);
}

/// Returns the clock at which the result is in its register or in shared memory, or the value has been read.
double Sm::access(Scheduler &scheduler, const Instruction &instruction, int number) {
  double start = std::max(now_, pipe_);
  scheduler.queue.push_back(start);
  const AccessClocks &access = work_.access;
  std::size_t at = warps_[static_cast<std::size_t>(number)].next;
  auto observed = [&](SmUnit unit, double from, double to) {
    if (work_.observer && to > from)
      work_.observer->busy(unit, 0, number, at, from, to);
  };
  int bytes = instruction.bytes;
  if (instruction.unit == Unit::shared_store) {
    pipe_ = start + wavefronts(access.shared_store, bytes);
    observed(SmUnit::pipe, start, pipe_);
    return pipe_ + latency(read_latency);
  }
  if (instruction.unit == Unit::shared_load || instruction.unit == Unit::ldmatrix) {
    bool rows = instruction.unit == Unit::ldmatrix;
    pipe_ = start + wavefronts(rows ? access.ldmatrix : access.shared_load, bytes);
    observed(SmUnit::pipe, start, pipe_);
    return pipe_ - 1 + latency(shared_latency);
  }
  bool copy = instruction.unit == Unit::async_copy;
  pipe_ = start + access.l1 + (copy ? wavefronts(access.shared_store, bytes) : 0);
  double l2_start = std::max(start, l2_);
  l2_ = l2_start + access.l2;
  observed(SmUnit::pipe, start, pipe_);
  observed(SmUnit::l2, l2_start, l2_);
  return copy || instruction.unit == Unit::global_load ? l2_ + latency(access.global_latency)
                                                       : pipe_ + latency(read_latency);
}

void Sm::issue(Scheduler &scheduler, int number) {
  WarpState &warp = warps_[static_cast<std::size_t>(number)];
  const Instruction &instruction = code_[warp.next];
  if (work_.observer)
    observe_stalls(scheduler, number);
  double busy = 1, done = now_ + latency(other_latency);
  if (instruction.ffma && !work_.left_out.banks)
    busy = scheduler.registers.issue(instruction, number, now_);
  else if (is_memory(instruction.unit))
    done = access(scheduler, instruction, number);
  if (instruction.unit == Unit::matrix)
    scheduler.matrix_free = std::max(now_, scheduler.matrix_free) + work_.matrix_clocks;
  if (work_.observer) {
    observe_issue(scheduler, number, busy);
    if (is_load(instruction.unit))
      work_.observer->flight(number, warp.next, now_, done);
  }
  if (instruction.unit == Unit::async_copy)
    warp.copied = std::max(warp.copied, done);
  if (instruction.unit == Unit::commit)
    warp.groups.push_back(warp.copied);
  scheduler.free = now_ + busy;
  warp.clear[instruction.written] = std::max(warp.clear[instruction.written], done);
  bool long_latency = instruction.unit == Unit::global_load || instruction.unit == Unit::async_copy;
  double read = long_latency ? now_ + latency(read_latency) : done;
  warp.clear[instruction.read] = std::max(warp.clear[instruction.read], read);
  warp.ready = now_ + (work_.left_out.latency ? 1 : instruction.stall) + busy - 1;
  follow(warp);
}

/// Divides the clocks since the last instruction of the warp among the reasons, in the order in which a warp
/// meets them.
void Sm::observe_stalls(const Scheduler &scheduler, int number) {
  const WarpState &warp = warps_[static_cast<std::size_t>(number)];
  const ObservedWarp &observed = observed_[static_cast<std::size_t>(number)];
  const Instruction &instruction = code_[warp.next];
  double at = observed.issued;
  auto until = [&](Stall reason, double end) {
    end = std::min(end, now_);
    if (end <= at)
      return;
    work_.observer->stall(number, reason, warp.next, at, end);
    at = end;
  };
  until(Stall::barrier, observed.barrier);
  until(observed.branched ? Stall::branch : Stall::fixed, warp.ready);
  double clear = 0;
  for (std::size_t n = 0; n < 6; ++n)
    if (instruction.waits >> n & 1)
      clear = std::max(clear, warp.clear[n]);
  until(Stall::scoreboard, clear);
  if (instruction.unit == Unit::matrix)
    until(Stall::matrix, scheduler.matrix_free);
  if (instruction.unit == Unit::wait && warp.groups.size() > static_cast<std::size_t>(instruction.pending))
    until(Stall::copies, *(warp.groups.rbegin() + instruction.pending));
  until(Stall::fetch, observed.fetch);
  until(Stall::queue, observed.queue);
  until(Stall::scheduler, now_);
}

void Sm::observe_issue(const Scheduler &scheduler, int number, double busy) {
  const WarpState &warp = warps_[static_cast<std::size_t>(number)];
  ObservedWarp &observed = observed_[static_cast<std::size_t>(number)];
  Unit unit = code_[warp.next].unit;
  int index = static_cast<int>(&scheduler - schedulers_.data());
  work_.observer->issue(index, number, warp.next, now_, now_ + busy);
  if (unit == Unit::matrix)
    work_.observer->busy(SmUnit::matrix, index, number, warp.next, scheduler.matrix_free - work_.matrix_clocks,
                         scheduler.matrix_free);
  observed.issued = now_ + busy;
  observed.branched = unit == Unit::branch;
}

/// Moves the warp to its next instruction.
void Sm::follow(WarpState &warp) {
  std::size_t at = warp.next++;
  const Instruction &instruction = code_[at];
  bool ends = instruction.unit == Unit::exit && !instruction.predicated;
  if (instruction.unit == Unit::branch) {
    warp.ready = std::max(warp.ready, now_ + latency(branch_latency));
    if (int loop = back_[at]; loop >= 0) {
      auto n = static_cast<std::size_t>(loop);
      if (++warp.iterations[n] < work_.iterations[n])
        warp.next = work_.loops[n].begin;
      else
        warp.iterations[n] = 0;
    } else if (!instruction.predicated && instruction.target > static_cast<std::int64_t>(at)) {
      warp.next = static_cast<std::size_t>(instruction.target);
    }
  }
  if (ends || warp.next >= code_.size()) {
    warp.done = true;
    --left_;
    --live_[warp.block];
    release(warp.block);
  } else if (instruction.unit == Unit::barrier && !work_.left_out.barriers) {
    arrive(warp);
  }
}

void Sm::arrive(WarpState &warp) {
  warp.waits = true;
  ++arrived_[warp.block];
  release(warp.block);
}

/// Ends the barrier of a block if all its warps have arrived.
void Sm::release(std::size_t block) {
  if (arrived_[block] == 0 || arrived_[block] < live_[block])
    return;
  arrived_[block] = 0;
  for (std::size_t n = 0; n < warps_.size(); ++n) {
    WarpState &warp = warps_[n];
    if (warp.block != block || !warp.waits)
      continue;
    warp.waits = false;
    warp.ready = std::max(warp.ready, now_ + barrier_latency);
    if (!observed_.empty())
      observed_[n].barrier = now_ + barrier_latency;
  }
}

} // namespace

double sm_clocks(const SmWork &work) { return Sm(work).run(); }

} // namespace nestsmith::model
