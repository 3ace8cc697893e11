#!/bin/sh
# docs_match.sh [ROOT]: docs/language.md is what docs/make_language.sh makes of the headers, README.md has the example in
# full, and what docs/use_the_cu.md says in CMake stands in the example's project.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
made=$(mktemp)
trap 'rm -f "$made"' EXIT
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
