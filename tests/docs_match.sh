#!/bin/sh
# docs_match.sh [ROOT [NESTSMITH]]: checks that docs/language.md matches the headers, that README.md contains the
# example and the schedule of tiling/shared, that README.ko.md has the same blocks as README.md, and that the example's
# project contains the CMake of docs/use_the_cu.md. With the binary NESTSMITH, it also checks that README.md contains
# the kernel of tiling/shared.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
nestsmith=${2-}
made=$(mktemp)
other=$(mktemp)
trap 'rm -f "$made" "$other"' EXIT
"$root/docs/make_language.sh" "$root" >"$made"
if ! diff -u "$root/docs/language.md" "$made"; then
  echo "docs/language.md differs from the headers: docs/make_language.sh >docs/language.md"
  exit 1
fi

sed -n '/^\/\/ A schedule of your own/,/^```$/{/^```/d;p}' "$root/README.md" >"$made"
if ! diff -u "$made" "$root/examples/my_schedule.cpp"; then
  echo "the C++ in README.md differs from examples/my_schedule.cpp"
  exit 1
fi

cmake=$root/examples/use_the_cu/CMakeLists.txt
awk '/^```cmake$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/docs/use_the_cu.md" >"$made"
[ -s "$made" ] || { echo "docs/use_the_cu.md has no CMake" && exit 1; }
while IFS= read -r line; do
  grep -Fxq -- "$line" "$cmake" || { echo "examples/use_the_cu/CMakeLists.txt has no line: $line" && exit 1; }
done <"$made"

# Prints the lines of all blocks of a page. Shell blocks are left out, because their comments are translated.
blocks() { awk '/^```/ { inside = !inside; shown = inside && !/^```sh$/ } shown' "$1"; }
blocks "$root/README.md" >"$made"
blocks "$root/README.ko.md" >"$other"
[ -s "$made" ] || { echo "README.md has no blocks" && exit 1; }
diff -u "$made" "$other" || { echo "README.ko.md has other blocks than README.md" && exit 1; }

awk '/^```cpp$/ { on = 1; next } /^```$/ { if (on) exit } on' "$root/README.md" >"$made"
sed -n '/auto AB = /,/return s;/{/return s;/d;s/^  //;p}' "$root/schedules/tiling/shared.cpp" >"$other"
diff -u "$made" "$other" || { echo "the first C++ in README.md differs from schedules/tiling/shared.cpp" && exit 1; }

[ -n "$nestsmith" ] || exit 0
awk '/^```cuda$/ { on = 1; next } /^```$/ { if (on) exit } on' "$root/README.md" >"$made"
"$nestsmith" emit tiling/shared --shape 1000x777x333 | sed -n '/__global__/,/^}/p' >"$other"
diff -u "$made" "$other" || { echo "the first CUDA in README.md is not what nestsmith emits" && exit 1; }
