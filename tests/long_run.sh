#!/bin/sh
# Runs the campaigns of the fuzzer on all cores: random schedules, schedules for warps, and mutants of traces. Before
# them, runs the nets of which ctest takes samples.
set -eu
. "$(dirname "$0")/rungs_of.sh"

usage() {
  cat <<HELP
usage: long_run.sh [-j N] NESTSMITH_FUZZ [SECONDS [SEED]]
Runs N processes at a time (all cores), each for SECONDS (600) and with seeds of its own from SEED (1) on: of three
processes, one takes random schedules, one schedules for warps, and one mutants of traces (docs/fuzzing.md). Prints
what they found, and saves the traces in finds/ beside NESTSMITH_FUZZ. Before, runs the whole of those tests beside
NESTSMITH_FUZZ of which ctest takes a sample. The exit code is 1 if there is a find.
HELP
}

jobs=$(nproc)
case ${1-} in
-h | --help) usage && exit 0 ;;
-j) [ $# -ge 2 ] || refuse 2 "-j needs a number" && jobs=$2 && shift 2 ;;
esac
[ $# -ge 1 ] || refuse 2 "give the nestsmith_fuzz; long_run.sh --help describes the arguments"
fuzz=$1 seconds=${2:-600} seed=${3:-1}
[ -x "$fuzz" ] || refuse 2 "no program $fuzz; build nestsmith_fuzz"
finds=$(dirname "$fuzz")/finds
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT

# full NAME FILTER: runs these tests of nestsmith_NAME_tests, with all cases.
full() {
  program=$(dirname "$fuzz")/nestsmith_$1_tests
  [ ! -x "$program" ] || NESTSMITH_FULL=1 "$program" --gtest_brief=1 --gtest_filter="$2" || echo "$1" >>"$output/failed"
}
full schedules 'EmittedText.*:Rungs.KeepTheirMeaningAtEveryStep'
full cli 'Advice.OfRungs*'

for n in $(seq 0 $((jobs > 3 ? jobs - 1 : 2))); do
  case $((n % 3)) in
  0) mode=schedules options="--everything 8" ;;
  1) mode=warps options="--warps --compile 200" ;;
  2) mode=mutants options=--mutate-traces ;;
  esac
  echo "$n $mode $((seed + n * 100000000)) $options"
done | xargs -P "$jobs" -I '{}' sh -c '
  set -- "$@" {}
  fuzz=$1 seconds=$2 finds=$3 output=$4 n=$5 mode=$6 seed=$7
  shift 7
  code=0
  "$fuzz" --seed "$seed" --seconds "$seconds" --save "$finds" "$@" >"$output/$n" 2>"$output/$n.progress" || code=$?
  [ $code -eq 0 ] || echo "$n" >>"$output/failed"
  {
    echo "## $mode from the seed $seed: exit code $code"
    if [ $code -eq 0 ]; then tail -n 1 "$output/$n"; else cat "$output/$n"; fi
    [ $code -le 1 ] || cat "$output/$n.progress"
  } >"$output/$n.report"
  cat "$output/$n.report" # at once, so that the reports of two processes do not mix' sh "$fuzz" "$seconds" "$finds" "$output"
[ ! -e "$output/failed" ]
