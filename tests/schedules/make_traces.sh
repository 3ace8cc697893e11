#!/bin/sh
# make_traces.sh NESTSMITH: C++ with a function for each rung that applies its trace, as `show --trace cpp` prints it,
# and the list `traces` of them. tests/schedules/trace_test.cpp is compiled with it. The rungs for which `show` takes the
# knobs from a table are left out, here and in the test.
set -eu
nestsmith=$1
rungs=$("$nestsmith" list --json | sed -n -e '/"fast\/best"/d' -e '/"hopper\/persistent"/d' -e 's/^ *"name": "\(.*\)",\{0,1\}$/\1/p')
[ -n "$rungs" ] || { echo "$nestsmith lists no rungs" >&2 && exit 1; }

cat <<'HEAD'
#include "tests/schedules/traces.h"

namespace nestsmith::test {
HEAD
n=0
for rung in $rungs; do
  echo "static void trace_$n(Schedule &s) { // $rung"
  "$nestsmith" show "$rung" --trace cpp
  echo "}"
  n=$((n + 1))
done
echo "const std::vector<std::pair<std::string, void (*)(Schedule &)>> traces = {"
n=0
for rung in $rungs; do
  echo "    {\"$rung\", trace_$n},"
  n=$((n + 1))
done
echo "};"
echo "} // namespace nestsmith::test"
