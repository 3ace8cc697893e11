#!/bin/sh
# cost_parts.sh [BUILD]: prints a row for each part of the repository in docs/cost.md: its lines, and its part of the
# time of the last build of each object in BUILD (default: build), in percent. If several files are compiled together,
# their time is distributed in proportion to their lines.
set -eu
[ $# -le 1 ] || { echo "usage: cost_parts.sh [BUILD]" >&2 && exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
[ -f "$build/.ninja_log" ] || { echo "cost_parts.sh: $build has no .ninja_log; build with ninja first" >&2 && exit 2; }
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The name of a part, and what its files begin with. The first part that fits a file has it.
cat >"$work/parts" <<'PARTS'
dsl/expr dsl/expr/
dsl/ir dsl/ir/
dsl/hardware dsl/hardware/
dsl/schedule dsl/schedule/
schedules schedules/
lowering lowering/
codegen codegen/
runtime/sim runtime/sim/
runtime/check runtime/check/
runtime/model runtime/model/
runtime/cuda,records,tune runtime/cuda/ runtime/records/ runtime/tune/
tools/pages tools/pages/
tools,the_rest tools/
tests/fuzz,pinned tests/fuzz/ tests/pinned/
tests/codegen/host tests/codegen/host tests/schedules/host
tests/tools/inputs tests/tools/inputs/
tests/dsl tests/dsl/
tests/lowering tests/lowering/
tests/codegen tests/codegen/
tests/runtime tests/runtime/
tests/schedules tests/schedules/
tests/tools tests/tools/
tests/known_bugs tests/known_bugs/
tests/golden tests/golden/
tests/mutation tests/mutation/
tests/proofs tests/proofs/
tests/pages tests/pages/
tests/guide tests/guide/
tests/install tests/install/
PARTS

git ls-files | grep -v '^docs/' | xargs wc -l | awk '$2 != "total" { print $1, $2 }' >"$work/lines"
# Each object with its seconds and its source, or with the sources that it compiles together.
awk -F'\t' 'NR > 1 && $4 ~ /\.(o|gch)$/ { seconds[$4] = ($2 - $1) / 1000 } END { for (o in seconds) print seconds[o], o }' \
  "$build/.ninja_log" | while read -r seconds object; do
  source=${object%.o}
  case $source in
    */Unity/*) sources=$(sed -n "s|^#include \"$root/\(.*\)\"|\1|p" "$build/$source" 2>/dev/null) ;;
    *) sources=$(printf '%s\n' "$source" | sed 's|CMakeFiles/[^/]*\.dir/||; s|cmake_pch\..*|cmake_pch|') ;;
  esac
  printf '%s %s\n' "$seconds" "$(printf '%s' "$sources" | tr '\n' ' ')"
done >"$work/seconds"

awk -v parts="$work/parts" -v lines="$work/lines" '
  function part_of(file, n, i) {
    for (n = 1; n <= count; ++n)
      for (i = 2; i <= fields[n]; ++i)
        if (index(file, prefix[n, i]) == 1) return n
    return 0
  }
  BEGIN {
    while ((getline line <parts) > 0) {
      fields[++count] = split(line, field, " ")
      name[count] = field[1]
      for (i = 2; i <= fields[count]; ++i) prefix[count, i] = field[i]
    }
    while ((getline line <lines) > 0) {
      split(line, field, " ")
      length_of[field[2]] = field[1]
      all_lines[part_of(field[2])] += field[1]
    }
  }
  {
    together = 0
    for (i = 2; i <= NF; ++i) together += length_of[$i] + 1
    for (i = 2; i <= NF; ++i) {
      time[part_of($i)] += $1 * (length_of[$i] + 1) / together
      total += $1 * (length_of[$i] + 1) / together
    }
  }
  END {
    for (n = 1; n <= count; ++n) printf "%-26s %7d lines %5.1f %%\n", name[n], all_lines[n], 100 * time[n] / total
    printf "%-26s %7s       %5.1f %%\n", "other objects", "", 100 * time[0] / total
    printf "the objects of the build take %.0f s, one at a time\n", total
  }' "$work/seconds"
