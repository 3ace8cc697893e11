#include "dsl/schedule/between_nests.h"

#include "dsl/ir/allocation.h"
#include "dsl/ir/dependence.h"
#include "dsl/ir/last_block.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace nestsmith {

std::size_t maker(const Schedule &schedule, const std::string &name) {
  for (std::size_t n = schedule.trace().size(); n-- > 0;) {
    const Directive &directive = schedule.trace()[n];
    bool made = std::find(directive.results.begin(), directive.results.end(), name) != directive.results.end();
    bool moved = directive.op == "set_scope" && directive.arguments.front() == Argument(BlockName{name});
    if (made || moved)
      return n + 1;
  }
  return 0;
}

namespace {

class BetweenNests {
public:
  explicit BetweenNests(const Schedule &schedule) : schedule_(schedule) {
    for (const Stmt &nest : nests_of(schedule.program().body))
      for (const Block *block : blocks_of(nest)) {
        add_user(block->body.buffer, nest);
        for (const Load *load : loads_of(*block))
          add_user(load->buffer, nest);
      }
  }

  std::vector<Obligation> run() {
    for (const Buffer &buffer : temporaries(schedule_.program()))
      buffer->scope == Scope::global ? check_global(buffer) : check_inside(buffer);
    for (const Stmt &nest : nests_of(schedule_.program().body))
      check_races(nest);
    return std::move(found_);
  }

private:
  void owe(const std::string &culprit, std::string message) {
    found_.push_back({std::move(message), maker(schedule_, culprit), culprit});
  }

  void add_user(const Buffer &buffer, const Stmt &nest) {
    std::vector<Stmt> &nests = users_[buffer.get()];
    if (nests.empty() || nests.back() != nest)
      nests.push_back(nest);
  }

  void check_global(const Buffer &buffer) {
    for (const Stmt &nest : users_[buffer.get()]) {
      const Block *writer = nullptr, *reader = nullptr;
      for (const Block *block : blocks_of(nest))
        if (touches(*block, buffer))
          (block->body.buffer == buffer ? writer : reader) = block;
      if (writer && reader && !is_read_by_last_block(nest, buffer))
        owe(writer->id->name, fmt::format("the temporary {} is in global memory, and block {} reads it in the "
                                          "nest in which block {} writes it, but the thread blocks of a grid "
                                          "are unordered; move it to shared or local memory with set_scope",
                                          buffer->name, reader->id->name, writer->id->name));
    }
  }

  /// Whether only the last block reads the buffer, after all blocks have written it.
  static bool is_read_by_last_block(const Stmt &nest, const Buffer &buffer) {
    auto last = find_last_block(nest);
    return last && std::ranges::all_of(blocks_of(nest), [&](const Block *block) {
             if (!touches(*block, buffer))
               return true;
             bool writes = block->body.buffer == buffer;
             return writes ? find_block(last->loop->body, block->id) != nullptr : last->is_after(*block);
           });
  }

  /// Accesses to one element of global memory by different threads must be ordered if one of them is a write.
  void check_races(const Stmt &nest) {
    auto race = unordered_accesses(nest);
    if (!race)
      return;
    auto verb = [&](const BlockId &id) { return access_verb(*find_block(nest, id), race->buffer); };
    found_.push_back(
        {fmt::format(
             "block {} {} an element of {} that block {} {} at another index of {}, in the same kernel, "
             "where nothing orders the two; bind the loops of both so that one index makes both "
             "accesses, or leave the blocks in nests of their own",
             race->second->name, verb(race->second), race->buffer->name, race->first->name, verb(race->first),
             name(race->axis)),
         last_bind(race->axis), race->second->name});
  }

  /// The step that last bound a loop to the axis.
  std::size_t last_bind(Axis axis) const {
    for (std::size_t n = schedule_.trace().size(); n-- > 0;) {
      const Directive &directive = schedule_.trace()[n];
      if (directive.op == "bind" && directive.arguments.back() == Argument(Word{std::string(name(axis))}))
        return n + 1;
    }
    return 0;
  }

  /// The blocks that use shared or local memory must be in one nest.
  void check_inside(const Buffer &buffer) {
    std::vector<const Block *> users;
    std::size_t nests = 0;
    for (const Stmt &nest : users_[buffer.get()]) {
      std::vector<const Block *> here = blocks_of(nest);
      std::erase_if(here, [&](const Block *block) { return !touches(*block, buffer); });
      nests += !here.empty();
      users.insert(users.end(), here.begin(), here.end());
    }
    if (nests < 2)
      return;
    const Block *latest = *std::max_element(users.begin(), users.end(), [&](const Block *a, const Block *b) {
      return maker(schedule_, a->id->name) < maker(schedule_, b->id->name);
    });
    owe(latest->id->name,
        fmt::format("{} is in {} memory, which does not outlive its kernel, but the blocks {} and {} use it in "
                    "separate nests, and each nest is a kernel; move them into one nest with compute_at or "
                    "reverse_compute_at",
                    buffer->name, name(buffer->scope), users.front()->id->name, users.back()->id->name));
  }

  const Schedule &schedule_;
  /// The nests that use a buffer, in order, so that the time does not depend on pairs of nests and buffers.
  std::map<const BufferNode *, std::vector<Stmt>> users_;
  std::vector<Obligation> found_;
};

} // namespace

std::vector<Obligation> owed_between_nests(const Schedule &schedule) { return BetweenNests(schedule).run(); }

} // namespace nestsmith
