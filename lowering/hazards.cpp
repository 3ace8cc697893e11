#include "lowering/hazards.h"

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
  }
  return "";
}

void Accesses::add(std::vector<SharedAccess> &list, const SharedAccess &access) {
  if (std::find(list.begin(), list.end(), access) == list.end())
    list.push_back(access);
}

void Accesses::join(const Accesses &other) {
  for (const SharedAccess &access : other.reads)
    add(reads, access);
  for (const SharedAccess &access : other.writes)
    add(writes, access);
}

namespace {

/// Applies `change` to each access, and drops those for which it returns false.
template <class F> Accesses changed(const Accesses &accesses, const F &change) {
  Accesses result;
  for (SharedAccess access : accesses.reads)
    if (change(access))
      Accesses::add(result.reads, access);
  for (SharedAccess access : accesses.writes)
    if (change(access))
      Accesses::add(result.writes, access);
  return result;
}

/// Whether two accesses may use the same copy, or the same memory.
/// [rule.slots.meet] (b - a)//c = (i + b)//c - (i + a)//c, (b - a) % c = 0
///     where c > 0, (i + a) % c = (i + b) % c
bool meet(const SearchedBuffers &searched, const SharedAccess &first, const SharedAccess &second) {
  if (first.buffer != second.buffer)
    return searched.overlapping.contains({first.buffer, second.buffer});
  if (first.own || second.own || !searched.buffers.contains(first.buffer))
    return false;
  if (!first.slot || !second.slot || first.slot->loop != second.slot->loop)
    return true;
  return (second.slot->at - first.slot->at) % first.slot->count == 0;
}

} // namespace

Accesses Accesses::guarded(const Until &until) const {
  return changed(*this, [&](SharedAccess &access) {
    access.until = access.until.value_or(until);
    return true;
  });
}

Accesses Accesses::later(const Var &loop, std::int64_t distance) const {
  return changed(*this, [&](SharedAccess &access) {
    if (access.slot && access.slot->loop == loop)
      access.slot->at += distance;
    if (!access.until || access.until->loop != loop)
      return true;
    access.until->at -= distance;
    return access.until->at >= 0;
  });
}

Accesses Accesses::outside(const Var &loop, std::optional<std::int64_t> at) const {
  return changed(*this, [&](SharedAccess &access) {
    if (access.until && access.until->loop == loop) {
      if (at && access.until->at < *at)
        return false;
      access.until.reset();
    }
    if (access.slot && access.slot->loop == loop && at)
      access.slot = Slot{nullptr, (access.slot->at + *at) % access.slot->count, access.slot->count};
    else if (access.slot && access.slot->loop == loop)
      access.slot.reset();
    return true;
  });
}

std::vector<Hazard> hazards_between(const SearchedBuffers &searched, const Accesses &before,
                                    const Accesses &after, const Later &later) {
  using Kind = Hazard::Kind;
  std::vector<Hazard> hazards;
  auto compare = [&](Kind kind, const std::vector<SharedAccess> &earlier,
                     const std::vector<SharedAccess> &then) {
    for (const SharedAccess &a : earlier)
      for (const SharedAccess &b : then) {
        bool same = a.buffer == b.buffer;
        if (b.landing || (kind == Kind::write_after_write && same) || !meet(searched, a, b))
          continue;
        std::string reader = kind == Kind::write_after_read ? a.by : kind == Kind::read_after_write ? b.by : "";
        add_hazards(hazards, {{kind, b.buffer->name, reader, later.loop ? later.loop->name : "", later.distance,
                               same ? "" : a.buffer->name}});
      }
  };
  compare(Kind::read_after_write, before.writes, after.reads);
  compare(Kind::write_after_read, before.reads, after.writes);
  compare(Kind::write_after_write, before.writes, after.writes);
  return hazards;
}

void add_hazards(std::vector<Hazard> &known, const std::vector<Hazard> &more) {
  auto key = [](const Hazard &hazard) {
    return std::tie(hazard.kind, hazard.buffer, hazard.reader, hazard.tenant);
  };
  for (const Hazard &hazard : more)
    if (std::none_of(known.begin(), known.end(),
                     [&](const Hazard &other) { return key(hazard) == key(other); }))
      known.push_back(hazard);
}

namespace {

/// Text for the hazards between two arrays that share memory, one for each pair of arrays: "C_shared: takes the
/// memory of A_shared, read above by AB". Hazards after reads come first, because the other ones follow from
/// them.
std::string describe_tenants(const std::vector<Hazard> &hazards, std::string_view written) {
  struct Change {
    std::string when;
    std::vector<std::string> readers;
  };
  std::vector<std::pair<std::pair<std::string, std::string>, Change>> changes;
  for (const Hazard &hazard : hazards) {
    if (hazard.tenant.empty())
      continue;
    auto same = [&](const auto &entry) { return entry.first == std::pair(hazard.buffer, hazard.tenant); };
    auto change = std::ranges::find_if(changes, same);
    if (change == changes.end()) {
      std::string when = hazard.loop.empty()    ? ""
                         : hazard.distance == 1 ? " in the next " + hazard.loop
                                                : fmt::format(" in {} + {}", hazard.loop, hazard.distance);
      change = changes.insert(changes.end(), {{hazard.buffer, hazard.tenant}, {when, {}}});
    }
    if (hazard.kind == Hazard::Kind::write_after_read)
      change->second.readers.push_back(hazard.reader);
  }
  std::string text;
  for (const auto &[arrays, change] : changes)
    text += fmt::format("{}{}: takes the memory of {}{}, {} above{}{}", text.empty() ? "" : "; ", arrays.first,
                        arrays.second, change.when, change.readers.empty() ? written : "read",
                        change.readers.empty() ? "" : " by ", fmt::join(change.readers, ", "));
  return text;
}

} // namespace

std::string describe(const std::vector<Hazard> &hazards, std::string_view written) {
  struct Names {
    std::vector<std::string> buffers, readers;
  };
  std::map<std::tuple<std::string, std::int64_t, Hazard::Kind>, Names> groups; // by loop, distance and kind
  auto add = [](std::vector<std::string> &names, const std::string &name) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (const Hazard &hazard : hazards) {
    if (!hazard.tenant.empty())
      continue;
    Names &names = groups[{hazard.loop, hazard.distance, hazard.kind}];
    add(names.buffers, hazard.buffer);
    if (hazard.reader.rfind(hazard.buffer, 0) != 0) // registers named after the tile add no information
      add(names.readers, hazard.reader);
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

} // namespace nestsmith::kernel
