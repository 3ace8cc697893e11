#!/bin/sh
# make_language.sh [ROOT]: generates docs/language.md from the headers and prints it: the grammars of dsl/expr/expr.h,
# dsl/ir/program.h and lowering/kernel.h, the operators of dsl/expr/expr.h, the functions of dsl/expr/math.h, and for each primitive in dsl/schedule/primitives/list.inc its method, its picture, its
# requirements and its guarantees. tests/docs_match.sh compares the output with the file.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
primitives=$root/dsl/schedule/primitives
names=$(sed -n 's/^PRIMITIVE(\([a-z_]*\))$/\1/p' "$primitives/list.inc" | tr '\n' ' ')

# The comment at the head of a header, as Markdown: what is indented is text as it stands.
head_comment() {
  awk '
    !/^\/\/\// { if (started) exit; next }
    {
      started = 1
      sub(/^\/\/\/ ?/, "")
      indented = /^  /
      if (indented != code) { print "```"; code = indented }
      print
    }
    END { if (code) print "```" }' "$1"
}

# The method of Schedule of this name, without its last parameter, what the caller chooses. A form that is a template, or
# that is defined in the class, is for literals.
signature() {
  tr '\n' ' ' <"$root/dsl/schedule/schedule.h" | tr -s ' ' |
    grep -oE "[A-Za-z:<>]+ $1\(([^()]*, )?Caller caller = Where::current\(\)\);" |
    sed 's/\(, \)\{0,1\}Caller caller = .*/)/'
}

# The comment of one primitive, after the signature.
primitive() {
  if [ -z "$(signature "$(basename "$1" .h)")" ]; then
    echo "make_language.sh: schedule.h has no method for $1 that ends with a Caller" >&2
    exit 1
  fi
  awk '
    function flush_requires() {
      if (n_requires) {
        print "\n**Requires**\n"
        for (i = 1; i <= n_requires; ++i) print "- `" tags[i] "`: " requires[i]
      }
      if (ensures != "") print "\n**Ensures** " ensures
    }
    function reset() { n_requires = 0; ensures = ""; state = ""; body_n = 0; code = 0 }
    # "split(i, {f0, …}): one loop …": the call as code.
    function quoted_call(line) {
      return match(line, /^[a-z_]+\(.*\): /) ? "`" substr(line, 1, RLENGTH - 2) "`: " substr(line, RLENGTH + 1) : line
    }
    BEGIN { reset() }
    /^\/\/\/ ?/ {
      text = $0
      sub(/^\/\/\/ ?/, "", text)
      if (text ~ /^Requires \[/) {
        state = "requires"
        tag = text; sub(/^Requires \[/, "", tag); sub(/\].*/, "", tag)
        sub(/^Requires \[[^]]*\]: /, "", text)
        tags[++n_requires] = tag; requires[n_requires] = text
      } else if (text ~ /^Ensures: /) {
        state = "ensures"; sub(/^Ensures: /, "", text); ensures = text
      } else if (text ~ /^ *$/) {
        state = ""; body[++body_n] = ""
      } else if (state == "requires") {
        sub(/^ +/, "", text); requires[n_requires] = requires[n_requires] " " text
      } else if (state == "ensures") {
        sub(/^ +/, "", text); ensures = ensures " " text
      } else body[++body_n] = text
      next
    }
    body_n && /[A-Za-z]/ {
      # The declaration that the comment belongs to; only those that state what they require are primitives.
      if (n_requires) {
        print "\n### " name "\n\n`" signature "`\n"
        for (i = 1; i <= body_n; ++i) {
          line = body[i]
          if (line ~ /^    /) { if (!code) { print "```"; code = 1 } print substr(line, 5); continue }
          if (line == "" && code && body[i + 1] ~ /^    /) { print ""; continue }
          if (code) { print "```"; code = 0 }
          if (i == body_n && line == "") continue
          if (i == 1) line = quoted_call(line)
          print line
        }
        if (code) print "```"
        flush_requires()
      }
      reset()
    }' name="$(basename "$1" .h)" signature="$(signature "$(basename "$1" .h)")" "$1"
}

cat <<'HEAD'
# The language

`docs/make_language.sh` generates this page from the comments of the headers. A test compares the page with the headers.

## Expressions

HEAD
head_comment "$root/dsl/expr/expr.h"
printf '\n```cpp\n'
sed -n '/^\/\/\/ The operators of C++/,/^$/p' "$root/dsl/expr/expr.h" | sed '/^inline/d;/^$/d'
printf '```\n'
printf '\n## Functions\n\n'
head_comment "$root/dsl/expr/math.h"
printf '\n```cpp\n'
sed -n '/^Expr \(fast_\)\{0,1\}[a-z0-9]*(/p' "$root/dsl/expr/math.h"
printf '```\n'
printf '\n## Programs\n\n'
head_comment "$root/dsl/ir/program.h"
printf '\n## Kernels\n\n'
head_comment "$root/lowering/kernel.h"
cat <<'PRIMITIVES'

## Primitives

Each primitive is a method of `Schedule` ([`dsl/schedule/schedule.h`](../dsl/schedule/schedule.h)). A call of the method is a *directive*: it
rewrites the program at once. In the pictures, `S` is a statement, and `name: store` is a block. nestsmith checks each
requirement. If a requirement does not hold, nestsmith refuses the directive and throws a `ScheduleError`. The error contains
the reason, a remedy, and the tag of the requirement, such as `split.tail` (`ScheduleError::requirement()`). The schedule
stays unchanged. For each requirement, a test in `tests/dsl` violates it.

These terms are used below:

- The *binding* of a loop assigns it to a hardware axis (`bind`). The binding of a block axis is its expression (see above).
- A loop is a *reduction loop* of a block if different iterations of the loop contribute to the same sum. A block *sums over*
  such a loop.
- A *temporary* is a buffer that is not a parameter. The *init* of a reduction sets its elements to their first value.
- A loop is *below* another loop if it is nested inside it. The *nest* of a block is the outermost loop around the block, with
  its whole body. The *nests below k* are the direct children of the loop k.
- A *digit* of a loop is a part `loop // div % mod` of its variable. A binding is a sum of digits with factors. After `fuse`
  and `split`, a digit can use several loops, as in `(outer*32 + inner) // 4 % 8`.
- An *obligation* is a condition that must hold when the schedule is complete. Lowering checks all obligations.

A directive names the loops and the block that it makes after those from which it makes them, such as `i_outer`. The last argument
of each directive chooses other names: `auto [block, thread] = s.split(i, {infer, 256}, named("block", "thread"));`. A kernel uses
chosen names as they are. It shortens derived names of more than 13 letters: `n_outer` is a part of a loop that `fuse` made.

Every primitive requires:

PRIMITIVES
awk '
  /^\/\/\/ Requires \[any\./ {
    if (text != "") print text
    sub(/^\/\/\/ Requires \[/, ""); sub(/\]: /, "`: "); text = "- `" $0; next
  }
  text != "" && /^\/\/\/   / { sub(/^\/\/\/ +/, ""); text = text " " $0; next }
  text != "" { print text; text = "" }' "$primitives/edit.h"

# Each primitive of the list has a header that states what it requires, and each such header is in the list.
for name in $names; do
  text=
  [ ! -f "$primitives/$name.h" ] || text=$(primitive "$primitives/$name.h")
  [ -n "$text" ] || { echo "dsl/schedule/primitives/$name.h states no requirement of a primitive; list.inc lists $name" >&2 && exit 1; }
  printf '%s\n' "$text"
done
for header in $(grep -l '^extern const Primitive' "$primitives"/*.h); do
  name=$(basename "$header" .h)
  case " $names " in
  *" $name "*) ;;
  *) echo "dsl/schedule/primitives/list.inc does not list $name" >&2 && exit 1 ;;
  esac
done
