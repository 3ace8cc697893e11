#!/bin/sh
set -eu
usage() {
  cat <<'HELP'
usage: gpu_check.sh [-j N] NESTSMITH [RUNG...]
Runs `NESTSMITH check RUNG --device gpu` of these rungs, or of all, on a machine with a GPU: in ring mode, in f32, and in
f32 under memcheck, racecheck, initcheck and synccheck of compute-sanitizer. Products at 127x129x131, batches of 2 of
them, vectors of 1000 elements. Prints the table of docs/gpu.md and what each run that failed said.
  -j N    runs at a time (4)
  --help  this text
COMPUTE_SANITIZER names another compute-sanitizer than the one on PATH.
exit codes: 0 good, 1 a run failed, 2 usage, 4 no compute-sanitizer or no GPU
HELP
}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}

# gpu_check.sh --one FOLDER BINARY TOOL RUNG SHAPE: makes one run. Prints a line "TOOL RUNG CODE" and writes a log.
if [ "${1:-}" = --one ]; then
  folder=$2 binary=$3 tool=$4 rung=$5
  set -- check "$rung" --device gpu --shape "$6"
  code=0
  log=$folder/$tool.$(echo "$rung" | tr / .).log
  case $tool in
  ring) "$binary" "$@" --dtype u32 >"$log" 2>&1 || code=$? ;;
  f32) "$binary" "$@" >"$log" 2>&1 || code=$? ;;
  *) "$sanitizer" --tool "$tool" --error-exitcode 9 "$binary" "$@" >"$log" 2>&1 || code=$? ;;
  esac
  echo "$tool $rung $code"
  exit 0
fi

. "$(dirname "$0")/rungs_of.sh"
jobs=4
case ${1:-} in
--help | -h) usage && exit 0 ;;
-j) [ $# -ge 2 ] || refuse 2 "-j takes a number; --help says more"
  jobs=$2 && shift 2 ;;
esac
[ $# -ge 1 ] || refuse 2 "give the nestsmith that is to be checked; --help says more"
binary=$1 && shift
[ -x "$binary" ] || refuse 2 "$binary is no program"
command -v "$sanitizer" >/dev/null || refuse 4 "no $sanitizer: CUDA brings it; put its folder on PATH"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rungs_of "$binary" "$@" >"$folder/rungs" || exit 2
read -r first rank <"$folder/rungs"
shape_of() {
  case $1 in 1) echo 1000 ;; 2) echo 127x129 ;; 3) echo 127x129x131 ;; 4) echo 2x127x129x131 ;; *) return 1 ;; esac
}
shape=$(shape_of "$rank") || refuse 2 "$first has $rank extents"
code=0
"$binary" check "$first" --device gpu --shape "$shape" >"$folder/said" 2>&1 || code=$?
[ $code -ne 4 ] || refuse 4 "$(tail -n 1 "$folder/said")"

while read -r rung rank; do
  shape=$(shape_of "$rank") || refuse 2 "$rung has $rank extents"
  for tool in ring f32 memcheck racecheck initcheck synccheck; do
    echo "$tool $rung $shape"
  done
done <"$folder/rungs" >"$folder/jobs"
xargs -P "$jobs" -L 1 "$0" --one "$folder" "$binary" <"$folder/jobs" >"$folder/results"

bad=0
awk -v results="$folder/results" '
  BEGIN {
    tools = split("ring f32 memcheck racecheck initcheck synccheck", tool, " ")
    split("equal,,no error,no hazard,no error,no error", good, ",")
    while ((getline line <results) > 0) {
      split(line, part, " ")
      code[part[2], part[1]] = part[3]
    }
    print "| rungs | ring mode | f32 | memcheck | racecheck | initcheck | synccheck |"
    print "| --- | --- | --- | --- | --- | --- | --- |"
  }
  {
    split($1, part, "/")
    if (!(part[1] in count))
      order[++groups] = part[1]
    names[part[1]] = names[part[1]] (count[part[1]]++ ? ", " : "") part[2]
    for (t = 1; t <= tools; t++) {
      runs++
      passed = (($1, tool[t]) in code) && code[$1, tool[t]] == 0
      all += passed
      well[part[1], t] += passed
    }
  }
  END {
    for (g = 1; g <= groups; g++) {
      row = "| `" order[g] "`: " names[order[g]] " |"
      for (t = 1; t <= tools; t++) {
        n = well[order[g], t]
        whole = n == count[order[g]]
        share = n " of " count[order[g]] (good[t] == "" ? "" : " ") good[t]
        row = row " " (!whole ? (count[order[g]] - n) " of " count[order[g]] " FAILED" : t <= 2 ? share : good[t]) " |"
      }
      print row
    }
    printf "\n%d of %d runs ended with exit code 0.\n", all, runs
    exit all != runs
  }' "$folder/rungs" || bad=1

while read -r tool rung shape; do
  grep -q "^$tool $rung 0\$" "$folder/results" && continue
  echo
  echo "## $tool of $rung at $shape: $(sed -n "s,^$tool $rung ,exit code ,p" "$folder/results")"
  grep -v '^ *$' "$folder/$tool.$(echo "$rung" | tr / .).log" | head -n 20 || true
done <"$folder/jobs"
exit $bad
