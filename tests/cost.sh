#!/bin/sh
# cost.sh JUNIT [LINES]: prints the cost of the tests in seconds, by net and by rung, from the file that `ctest
# --output-junit` wrote. A net is a test with all of its parameters. The cost of a rung is the sum over the tests that
# name it in a parameter; the slowest of these is printed, too. A test that reads all rungs counts only as a net.
set -eu
junit=$1 lines=${2-12}

costs=$(awk '
  /<testcase / {
    name = $0; sub(/.* name="/, "", name); sub(/".*/, "", name)
    seconds = $0; sub(/.* time="/, "", seconds); sub(/".*/, "", seconds)
    net = name; sub(/^[^.\/]*\//, "", net); sub(/\/.*/, "", net)
    nets[net] += seconds; tests[net]++; total += seconds
    rung = name; sub(/.*\//, "", rung)
    if (net ~ /^EveryRung/) sub(/_[0-9x]+$/, "", rung) # its shape
    if (name ~ /^(Rungs|Others)\// && rung ~ /^[a-z_0-9]+$/) {
      rungs[rung] += seconds
      if (seconds + 0 > slowest[rung] + 0) { slowest[rung] = seconds; which[rung] = net }
    }
  }
  END {
    printf "total %.0f\n", total
    for (net in nets) printf "net %.1f %s %d\n", nets[net], net, tests[net]
    for (rung in rungs) printf "rung %.1f %s %.1f s in %s\n", rungs[rung], rung, slowest[rung], which[rung]
  }' "$junit")
printf 'nestsmith: the tests took %s s, one at a time; by net:\n' "$(printf '%s\n' "$costs" | sed -n 's/^total //p')"
printf '%s\n' "$costs" | sed -n 's/^net //p' | sort -rn | head -n "$lines" |
  awk '{ printf "  %7.1f s  %s%s\n", $1, $2, ($3 > 1 ? " (" $3 " tests)" : "") }'
printf 'nestsmith: by rung, with its slowest test:\n'
printf '%s\n' "$costs" | sed -n 's/^rung //p' | sort -rn | head -n "$lines" |
  awk '{ printf "  %7.1f s  %s: ", $1, $2; $1 = $2 = ""; sub(/^ +/, ""); print }'
