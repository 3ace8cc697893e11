#!/bin/sh
# docs_match.sh [ROOT]: docs/language.md is what docs/make_language.sh makes of the headers.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
made=$(mktemp)
trap 'rm -f "$made"' EXIT
"$root/docs/make_language.sh" "$root" >"$made"
if ! diff -u "$root/docs/language.md" "$made"; then
  echo "docs/language.md differs from the headers: docs/make_language.sh >docs/language.md"
  exit 1
fi
