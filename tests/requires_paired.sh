#!/bin/sh
# requires_paired.sh [ROOT]: checks that the tag of each requirement is in three places: a line `/// Requires [TAG]: …`
# in the header dsl/schedule/primitives/NAME.h, the refusal in dsl/, and expect_refused in tests/dsl. TAG is NAME.WORD.
# Each primitive has the requirements any.WORD, which are in edit.h.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root"
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
failed=0
fail() { echo "$1" && failed=1; }

# tags PATTERN FILE...: prints the NAME.WORD of each match of PATTERN.
word='[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*'
tags() {
  pattern=$1
  shift
  cat "$@" | tr '\n' ' ' | grep -oE "$pattern" | grep -oE "$word" || true
}

for header in dsl/schedule/primitives/*.h; do
  name=$(basename "$header" .h)
  [ "$name" != edit ] || name=any
  bad=$(grep -nE '^ */// *Requires' "$header" | grep -vE "^[0-9]+:/// Requires \[$name\.[a-z0-9_]+\]: ." || true)
  [ -z "$bad" ] || fail "$header:$bad: not of the form \"/// Requires [$name.word]: what\""
done
tags "/// Requires \[$word\]" dsl/schedule/primitives/*.h | sort >"$lists/all"
sort -u "$lists/all" >"$lists/required"
[ -s "$lists/required" ] || fail "no Requires line in dsl/schedule/primitives/*.h"
for tag in $(uniq -d "$lists/all"); do fail "two headers or lines require $tag"; done

names=$(sed 's/\..*//' "$lists/required" | sort -u | tr '\n' '|')
word="(${names%|})\.[a-z][a-z0-9_]*"
cat dsl/schedule/primitives/*.cpp | tr '\n' ' ' | grep -oE 'refuse\( *"[^"]*"' | grep -vE "\"$word\"" >"$lists/untagged" || true
[ ! -s "$lists/untagged" ] || fail "dsl/schedule/primitives: a refusal without the tag of a requirement: $(cat "$lists/untagged")"
tags "\"$word\"" dsl/*/*.cpp dsl/schedule/primitives/*.cpp | sort -u >"$lists/refused"
tags "expect_refused\( *[a-z_.]+, *\"$word\"" tests/dsl/*.cpp | sort -u >"$lists/tested"

missing() { comm -23 "$lists/$1" "$lists/$2"; }
for tag in $(missing required refused); do fail "$tag is required by a header, but no code refuses it"; done
for tag in $(missing refused required); do fail "$tag is refused by the code, but no header requires it"; done
for tag in $(missing required tested); do fail "$tag is tested by no expect_refused in tests/dsl"; done
for tag in $(missing tested required); do fail "$tag is tested, but no header requires it"; done
[ "$failed" != 0 ] || echo "$(wc -l <"$lists/required") requirements, each refused by code and tested"
exit "$failed"
