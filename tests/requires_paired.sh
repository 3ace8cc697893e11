#!/bin/sh
# requires_paired.sh [ROOT]: every `/// Requires [TAG]:` line of a header in dsl/primitives is broken by a
# test in tests/dsl that carries the line `// refuses: TAG`, and no test names a tag that no header has.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
[ -d "$root/dsl/primitives" ] || { echo "no folder $root/dsl/primitives" && exit 1; }
[ -d "$root/tests/dsl" ] || { echo "no folder $root/tests/dsl" && exit 1; }

lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
find "$root/dsl/primitives" -name '*.h' -exec grep -Hn 'Requires' {} + | sort >"$lines" || true
find "$root/tests/dsl" -name '*.cpp' -exec grep -Hn 'refuses:' {} + | sort >>"$lines" || true

awk -v root="$root/" '
  {
    match($0, /^[^:]*:[0-9]+:/)
    where = substr($0, 1, RLENGTH - 1)
    text = substr($0, RLENGTH + 1)
    if (index(where, root) == 1)
      where = substr(where, length(root) + 1)
  }
  where ~ /^dsl\// {
    if (text !~ /^ *\/\/\/ Requires \[[a-z0-9_.]+\]: ./) {
      print where ": not of the form \"/// Requires [primitive.tag]: what\": " text
      bad = 1
      next
    }
    match(text, /\[[a-z0-9_.]+\]/)
    tag = substr(text, RSTART + 1, RLENGTH - 2)
    if (tag in required) {
      print where ": the tag " tag " stands in " required[tag] " too"
      bad = 1
    }
    required[tag] = where
    n++
    next
  }
  {
    if (text !~ /^ *\/\/ refuses: [a-z0-9_.]+$/) {
      print where ": not of the form \"// refuses: primitive.tag\": " text
      bad = 1
      next
    }
    sub(/^.*refuses: /, "", text)
    if (!(text in refused))
      refused[text] = where
  }
  END {
    for (tag in required)
      if (!(tag in refused)) {
        print required[tag] ": no test in tests/dsl has the line \"// refuses: " tag "\""
        bad = 1
      }
    for (tag in refused)
      if (!(tag in required)) {
        print refused[tag] ": no header in dsl/primitives requires " tag
        bad = 1
      }
    if (!n) {
      print "no Requires line in dsl/primitives/*.h"
      bad = 1
    }
    if (!bad)
      print n " requirements, each with a test that breaks it"
    exit bad
  }' "$lines"
