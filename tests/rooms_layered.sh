#!/bin/sh
# rooms_layered.sh [ROOT]: a room includes only rooms to its left, and itself.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root"

allowed='' bad=0 checked=0
for room in dsl lowering codegen runtime schedules tools; do
  allowed="$allowed${allowed:+|}$room"
  # Includes in quotes are written from the root of the repository.
  includes=$(grep -rn --include='*.h' --include='*.cpp' --include='*.inc' '^ *# *include *"' "$room" || true)
  [ -n "$includes" ] || { echo "no include in $room: is this the right folder?" && exit 1; }
  checked=$((checked + $(printf '%s\n' "$includes" | wc -l)))
  if printf '%s\n' "$includes" | grep -Ev "\"($allowed)/"; then
    echo "above: $room may include only $(echo "$allowed" | tr '|' ' ')"
    bad=1
  fi
done
[ "$bad" = 0 ] && echo "$checked includes, all to the left"
exit "$bad"
