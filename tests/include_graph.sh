#!/bin/sh
# include_graph.sh [ROOT]: prints the include graph of the rooms. A unit is a header with the source file of the same
# name. For each room, and for all rooms together, it prints the numbers of files, units, arrows and floors. An arrow is
# an include of one unit by another. The floors are the units on the longest chain of includes; a knot counts as one. A
# knot is a set of units that include each other, directly or indirectly.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root"
rooms='dsl/expr dsl/ir dsl/hardware dsl/schedule schedules lowering codegen runtime/sim runtime/model runtime/cuda
  runtime/check runtime/records runtime/tune
  tools/output tools/options tools/results tools/tables tools/advice tools/bench tools/tune tools/pages tools/exercises
  tools/commands tools'
find $rooms -name '*.h' -o -name '*.cpp' -o -name '*.inc' | sort -u | while read -r file; do
  echo "file $file"
  sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file" | while read -r included; do echo "arrow $file $included"; done
done | awk -v rooms="$rooms" '
  function unit(file) { sub(/\.[a-z]+$/, "", file); return file }
  function room_of(u,  n) { for (n = 1; n <= count_rooms; ++n) if (index(u, room[n] "/") == 1) return room[n] }
  # Marks all units that `from` includes, directly or indirectly, in `reached`.
  function mark(from,  n, v) {
    for (n = 1; n <= degree[from]; ++n) {
      v = next_of[from, n]
      if (!((start, v) in reached)) { reached[start, v] = 1; mark(v) }
    }
  }
  # Returns the number of floors from u down. Each floor is a unit or a knot; u stands for its knot.
  function floors(u,  n, m, v, deepest, d) {
    if (u in depth) return depth[u]
    deepest = 0
    for (m = 1; m <= members[u]; ++m)
      for (n = 1; n <= degree[member[u, m]]; ++n) {
        v = knot[next_of[member[u, m], n]]
        if (v != u && (within == "" || room_of(v) == within)) { d = floors(v); if (d > deepest) deepest = d }
      }
    return depth[u] = deepest + 1
  }
  BEGIN { count_rooms = split(rooms, room, /[ \n]+/) }
  $1 == "file" { u = unit($2); ++files[room_of(u)]; if (!(u in is_unit)) { is_unit[u] = 1; unit_at[++count] = u } }
  $1 == "arrow" { from[++arrows] = unit($2); to[arrows] = unit($3) }
  END {
    for (u in is_unit) ++units[room_of(u)]
    for (n = 1; n <= arrows; ++n) {
      u = from[n]; v = to[n]
      if (u == v || !(v in is_unit) || ((u, v) in seen)) continue
      seen[u, v] = 1
      next_of[u, ++degree[u]] = v
      ++all_arrows
      if (room_of(u) == room_of(v)) ++own_arrows[room_of(u)]
    }
    for (n = 1; n <= count; ++n) { start = unit_at[n]; mark(start) }
    for (n = 1; n <= count; ++n) {
      u = unit_at[n]
      if (u in knot) continue
      for (m = n; m <= count; ++m) {
        v = unit_at[m]
        if (u == v || (((u, v) in reached) && ((v, u) in reached))) { knot[v] = u; member[u, ++members[u]] = v }
      }
      if (members[u] > 1) {
        printf "knot of %d:", members[u]
        for (m = 1; m <= members[u]; ++m) printf " %s", member[u, m]
        print ""
      }
    }
    printf "%-16s %6s %6s %7s %7s\n", "room", "files", "units", "arrows", "floors"
    for (r = 1; r <= count_rooms; ++r) {
      within = room[r]; most = 0
      split("", depth)
      for (u in members) if (room_of(u) == within) { d = floors(u); if (d > most) most = d }
      printf "%-16s %6d %6d %7d %7d\n", within, files[within], units[within], own_arrows[within], most
      all_files += files[within]
    }
    within = ""; most = 0
    split("", depth)
    for (u in members) { d = floors(u); if (d > most) most = d }
    printf "%-16s %6d %6d %7d %7d\n", "all", all_files, count, all_arrows, most
  }'
