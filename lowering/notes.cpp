#include "lowering/notes.h"

#include "dsl/ir/allocation.h"
#include "dsl/ir/atomics.h"
#include "dsl/ir/layout.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <tuple>

namespace nestsmith::kernel {

std::string_view name(Hazard::Kind kind) {
  switch (kind) {
  case Hazard::Kind::read_after_write:
    return "read after write";
  case Hazard::Kind::write_after_read:
    return "write after read";
  case Hazard::Kind::write_after_write:
    return "write after write";
  case Hazard::Kind::end_after_write:
    return "end after write";
  }
  return "";
}

namespace {

/// Text for the hazards between two arrays that share memory, one for each pair of arrays: "C_shared: takes the
/// memory of A_shared, read above by AB". Hazards after reads come first, because the other ones follow from
/// them.
std::string describe_tenants(std::span<const Hazard> hazards, std::string_view written) {
  struct Change {
    std::string when;
    std::vector<std::string> readers;
  };
  std::vector<std::pair<std::pair<Buffer, Buffer>, Change>> changes;
  for (const Hazard &hazard : hazards) {
    if (!hazard.tenant)
      continue;
    auto same = [&](const auto &entry) { return entry.first == std::pair(hazard.buffer, hazard.tenant); };
    auto change = std::ranges::find_if(changes, same);
    if (change == changes.end()) {
      std::string when = !hazard.loop ? ""
                         : hazard.distance == 1
                             ? " in the next " + hazard.loop->name
                             : fmt::format(" in {} + {}", hazard.loop->name, hazard.distance);
      change = changes.insert(changes.end(), {{hazard.buffer, hazard.tenant}, {when, {}}});
    }
    if (hazard.kind == Hazard::Kind::write_after_read)
      change->second.readers.push_back(hazard.reader->name);
  }
  std::string text;
  for (const auto &[arrays, change] : changes)
    text += fmt::format("{}{}: takes the memory of {}{}, {} above{}{}", text.empty() ? "" : "; ",
                        arrays.first->name, arrays.second->name, change.when,
                        change.readers.empty() ? written : "read", change.readers.empty() ? "" : " by ",
                        fmt::join(change.readers, ", "));
  return text;
}

/// "A_shared, B_shared: written above, read below by AB". Omits a reader if its name begins with the name of
/// the buffer, for example the registers to which a thread copies elements of the buffer. `written` is the word
/// for a write.
std::string describe(std::span<const Hazard> hazards, std::string_view written) {
  struct Names {
    std::vector<std::string> buffers, readers;
  };
  std::map<std::tuple<std::string, std::int64_t, Hazard::Kind>, Names> groups; // by loop, distance and kind
  auto add = [](std::vector<std::string> &names, const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (const Hazard &hazard : hazards) {
    if (hazard.tenant)
      continue;
    Names &names = groups[{hazard.loop ? hazard.loop->name : "", hazard.distance, hazard.kind}];
    add(names.buffers, hazard.buffer->name);
    // Registers that are named after the tile add no information.
    if (hazard.reader && !hazard.reader->name.starts_with(hazard.buffer->name))
      add(names.readers, hazard.reader->name);
  }
  std::string text, said;
  std::vector<std::string> subject;
  for (const auto &[key, names] : groups) {
    const auto &[loop, distance, kind] = key;
    text += text.empty() ? "" : "; ";
    if (names.buffers != subject)
      text += fmt::format("{}: ", fmt::join(names.buffers, ", "));
    std::string when = distance == 1 ? "the next " + loop : fmt::format("{} + {}", loop, distance);
    std::string iteration = names.buffers == subject && when == said ? "it" : when;
    std::string readers = fmt::format("{}", fmt::join(names.readers, ", "));
    std::string by = readers.empty() ? "" : " by " + readers;
    if (kind == Hazard::Kind::write_after_read)
      text += fmt::format("read above{}, overwritten {}", by, loop.empty() ? "below" : "by " + iteration);
    else if (kind == Hazard::Kind::end_after_write)
      text += fmt::format("{} above, not in flight at the end", written);
    else if (loop.empty())
      text += fmt::format("{} above, read below{}", written, by);
    else
      text += fmt::format("{} above, read{} {}", written, by,
                          readers.empty() ? "by " + iteration : "of " + iteration);
    subject = names.buffers;
    said = loop.empty() ? "" : when;
  }
  std::string tenants = describe_tenants(hazards, written);
  return text + (text.empty() || tenants.empty() ? "" : "; ") + tenants;
}

/// "A_shared, B_shared: filled by other warps, read below by AB", or "A_shared, B_shared: read by AB, 4
/// iterations of k_outer ago".
std::string describe_await(const Await &await) {
  std::vector<std::string> tiles, readers;
  std::string iterations;
  for (const Hazard &hazard : await.hazards) {
    if (std::ranges::find(tiles, hazard.buffer->name) == tiles.end())
      tiles.push_back(hazard.buffer->name);
    if (hazard.reader && !hazard.reader->name.starts_with(hazard.buffer->name) &&
        std::ranges::find(readers, hazard.reader->name) == readers.end())
      readers.push_back(hazard.reader->name);
    if (hazard.loop)
      iterations = fmt::format("{} iterations of {} ago", hazard.distance, hazard.loop->name);
  }
  const std::string by = readers.empty() ? "" : fmt::format(" by {}", fmt::join(readers, ", "));
  if (await.event == Event::filled)
    return fmt::format("{}: filled by other warps, read below{}", fmt::join(tiles, ", "), by);
  return fmt::format("{}: read{}, {}", fmt::join(tiles, ", "), by.empty() ? " by other warps" : by, iterations);
}

std::string note_on(const Purpose &purpose) {
  std::vector<std::string> names;
  for (const Var &var : purpose.of)
    if (std::ranges::find(names, var->name) == names.end())
      names.push_back(var->name);
  std::string of = fmt::format("{}", fmt::join(names, ", "));
  switch (purpose.kind) {
  case Purpose::Kind::none:
    return "";
  case Purpose::Kind::tail:
    return "tail of " + of;
  case Purpose::Kind::not_last:
    return fmt::format("not in the last {} of {}",
                       purpose.iterations == 1 ? "iteration" : fmt::format("{} iterations", purpose.iterations),
                       of);
  case Purpose::Kind::part:
    return "a part of " + of;
  case Purpose::Kind::past:
    return "copies of the iterations past the end would only fill";
  case Purpose::Kind::with_terms:
    return fmt::format("skips each {} without a term", of);
  case Purpose::Kind::arrived:
    return "all blocks of " + of + " have arrived";
  case Purpose::Kind::full_tiles:
    return "all tiles are full";
  case Purpose::Kind::no_edge:
    return "no tile is at an edge";
  case Purpose::Kind::first_nest:
    return "the other blocks execute the next nest";
  case Purpose::Kind::role:
    return "the other warps fill the tiles";
  case Purpose::Kind::divergent:
    return "a warp whose lanes differ runs both sides";
  }
  return "";
}

} // namespace

std::string names_of(const std::vector<Buffer> &buffers) {
  std::vector<std::string_view> names;
  for (const Buffer &buffer : buffers)
    names.emplace_back(buffer->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string note_of(const Stmt &stmt) {
  return visit(stmt, Overloaded{[](const If &branch) { return note_on(branch.purpose); },
                                [](const Store &store) {
                                  bool rounds =
                                      store.atomic && depends_on_order(*store.atomic, store.buffer->dtype);
                                  return std::string(rounds ? "not deterministic: in any order" : "");
                                },
                                [](const Sync &sync) {
                                  if (const auto *commit = std::get_if<Commit>(&sync.kind))
                                    return names_of(commit->targets);
                                  if (const auto *await = std::get_if<Await>(&sync.kind))
                                    return describe_await(*await);
                                  if (std::holds_alternative<AwaitKernel>(sync.kind))
                                    return std::string("the results of the kernel before are visible");
                                  if (const auto *signal = std::get_if<Signal>(&sync.kind))
                                    return signal->event == Event::filled
                                               ? std::string("when the copies have arrived")
                                               : std::string();
                                  return describe(sync.hazards(), sync.completes(Queue::copies)  ? "copied"
                                                                  : sync.completes(Queue::calls) ? "computed"
                                                                                                 : "written");
                                },
                                [](const BulkCopy &copy) {
                                  return std::string(copy.stores() ? "one lane copies the box"
                                                                   : "one thread copies the box");
                                },
                                [](const auto &) { return std::string(); }});
}

std::string note_of(const Allocation &allocation) {
  using Kind = Content::Kind;
  if (!allocation.content)
    return "";
  const Content &content = *allocation.content;
  const Buffer &source = allocation.origin ? std::get<Buffer>(allocation.origin->front()) : allocation.buffer;
  std::string what = content.kind == Kind::tile   ? "tile of " + content.of->name
                     : content.kind == Kind::part ? "part of " + content.of->name
                                                  : fmt::format("results of one {}", owner_of(source->scope));
  std::string layout = nestsmith::describe(source->layout);
  return fmt::format("{} {}{}{}{}", fmt::join(content.box, " x "), what, layout.empty() ? "" : ", ", layout,
                     allocation.slots > 1 ? fmt::format(", for {} iterations in flight", allocation.slots)
                                          : "");
}

} // namespace nestsmith::kernel
