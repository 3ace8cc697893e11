#!/bin/sh
# docs_match.sh [ROOT]: docs/language.md is what docs/make_language.sh makes of the headers, and README.md has the
# example in full.
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
