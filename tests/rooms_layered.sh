#!/bin/sh
# rooms_layered.sh [ROOT]: checks that each room includes only itself and the rooms on its line below, and that each
# folder of code is a room. It also refuses knots of more than four units. A knot is a set of units that include each
# other, directly or indirectly; tests/include_graph.sh prints them.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root"

bad=0 checked=0 rooms=''
# room NAME [ROOM...]: checks that NAME includes only itself and these rooms.
room() {
  name=$1
  allowed=$(printf '%s|' "$@")
  inner='no room' # the rooms in this folder, whose lines are above
  for other in $rooms; do
    case $other in "$name"/*) inner="$inner|$other/" ;; esac
  done
  rooms="$rooms $name"
  # Includes in quotes are relative to the root of the repository.
  includes=$(grep -rn --include='*.h' --include='*.cpp' --include='*.inc' '^ *# *include *"' "$name" |
    grep -Ev "^($inner)" || true)
  [ -n "$includes" ] || { echo "no include in $name: is this the right folder?" && exit 1; }
  checked=$((checked + $(printf '%s\n' "$includes" | wc -l)))
  if printf '%s\n' "$includes" | grep -Ev "\"(${allowed%|})/"; then
    echo "$name may include only $*"
    bad=1
  fi
}

room dsl/expr
room dsl/ir dsl/expr
room dsl/hardware dsl/ir dsl/expr
room dsl/schedule dsl/hardware dsl/ir dsl/expr
room schedules dsl
room lowering dsl
room codegen lowering dsl
room runtime/sim lowering dsl
room runtime/model runtime/sim codegen lowering dsl
room runtime/cuda runtime/model dsl
room runtime/check runtime/cuda runtime/sim codegen lowering dsl
room runtime/records dsl
room runtime/tune runtime/check runtime/cuda runtime/model runtime/sim lowering dsl
compiler='runtime schedules codegen lowering dsl'
room tools/output $compiler
room tools/options tools/output $compiler
room tools/results tools/options tools/output $compiler
room tools/tables tools/results tools/options tools/output $compiler
room tools/advice tools/results tools/options tools/output $compiler
room tools/bench tools/results tools/options tools/output $compiler
room tools/tune tools/bench tools/results tools/options tools/output $compiler
room tools/pages tools/advice tools/tables tools/results tools/output $compiler
room tools/exercises $compiler
room tools/commands tools/exercises tools/pages tools/tune tools/bench tools/advice tools/tables tools/results \
  tools/options tools/output $compiler
room tools $compiler

for folder in dsl/* lowering codegen schedules tools tools/* runtime/*; do
  [ -d "$folder" ] || continue
  case " $rooms " in *" $folder "*) ;; *) echo "$folder is on no line of this test" && bad=1 ;; esac
done
knots=$(tests/include_graph.sh "$root" | awk '$1 == "knot" && $3 + 0 > 4')
[ -z "$knots" ] || { echo "a knot of more than four units:" && echo "$knots" && bad=1; }
[ "$bad" = 0 ] && echo "$checked includes, all as the table says"
exit "$bad"
