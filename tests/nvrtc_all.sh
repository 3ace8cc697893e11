#!/bin/sh
set -eu
usage() {
  cat <<'HELP'
usage: nvrtc_all.sh [-j N] NESTSMITH [RUNG...]
Compiles the kernels of these rungs, or of all, by NVRTC for every architecture that it lists, with the forms of their
own instructions (sm_90a, sm_100f): at a shape of whole tiles and at a ragged one, each in f32, in f16 and as one kernel
for all sizes (multiples of 4, and any). Needs no GPU. Prints a table, and what was refused or spills.
  -j N    processes at a time (as many as there are cores)
  --help  this text
exit codes: 0 good, 1 a text was refused or spills registers, 2 usage, 4 no NVRTC
HELP
}

# nvrtc_all.sh --one FOLDER BINARY RUNG ARCH FORM SHAPE: compiles one rung. Prints a line "ARCH FORM STATUS KERNELS
# CACHED SPILLING REGISTERS RUNG SHAPE", and writes a log if the status is not good.
if [ "${1:-}" = --one ]; then
  folder=$2 binary=$3 rung=$4 arch=$5 form=$6 shape=$7
  set -- compile "$rung" --arch "$arch" --shape "$shape" --json
  case $form in
  f16) set -- "$@" --dtype f16 ;;
  symbolic) set -- "$@" --symbolic ;;
  symbolic4) set -- "$@" --symbolic --multiple-of 4 ;;
  esac
  code=0
  log=$folder/$(echo "$rung" | tr / .).$arch.$form.$shape.log
  "$binary" "$@" >"$log" 2>&1 || code=$?
  status=good
  if [ $code -eq 3 ] && { [ "$form" = f16 ] || grep -q ' needs sm_' "$log"; }; then
    status=not_taken
  elif [ $code -ne 0 ]; then
    status=refused
  fi
  figures=$(awk -F '[:,]' '
    /^ *"kernel":/ { kernels++ }
    /^ *"from_cache": true/ { cached++ }
    /^ *"registers":/ && $2 + 0 > most { most = $2 + 0 }
    /^ *"spill_stores_bytes":/ { spilt = $2 + 0 }
    /^ *"spill_loads_bytes":/ && spilt + $2 > 0 { spilling++ }
    END { print kernels + 0, cached + 0, spilling + 0, most + 0 }' "$log")
  echo "$arch $form $status $figures $rung $shape"
  [ $status = refused ] || rm -f "$log"
  exit 0
fi

. "$(dirname "$0")/rungs_of.sh"
jobs=$(getconf _NPROCESSORS_ONLN)
case ${1:-} in
--help | -h) usage && exit 0 ;;
-j) [ $# -ge 2 ] || refuse 2 "-j takes a number; --help says more"
  jobs=$2 && shift 2 ;;
esac
[ $# -ge 1 ] || refuse 2 "give the nestsmith whose kernels are compiled; --help says more"
binary=$1 && shift
[ -x "$binary" ] || refuse 2 "$binary is no program"

arches=$("$binary" doctor --json | sed -n 's/^ *"arches": "\(.*\)".*/\1/p')
[ -n "$arches" ] || refuse 4 "no NVRTC: \`$binary doctor\` says how to get it"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
NESTSMITH_CACHE=$folder/cache # a text that several rungs share is compiled once
export NESTSMITH_CACHE
rungs_of "$binary" "$@" >"$folder/rungs" || exit 2

while read -r rung rank; do
  case $rank in
  1) whole=1048576 ragged=1000003 ;;
  3) whole=1024x1024x1024 ragged=127x129x131 ;;
  4) whole=16x256x256x256 ragged=3x127x129x131 ;;
  *) refuse 2 "$rung has $rank extents" ;;
  esac
  for arch in $arches; do
    echo "$rung $arch f32 $whole
$rung $arch f32 $ragged
$rung $arch f16 $whole
$rung $arch f16 $ragged
$rung $arch symbolic4 $whole
$rung $arch symbolic $ragged"
  done
done <"$folder/rungs" >"$folder/jobs"
xargs -P "$jobs" -L 1 "$0" --one "$folder" "$binary" <"$folder/jobs" >"$folder/results"

bad=0
awk -v arches="$arches" -v rungs="$(wc -l <"$folder/rungs")" -v runs="$(wc -l <"$folder/jobs")" '
  {
    form = $2 == "symbolic4" ? "symbolic" : $2
    kernels[$1, form] += $4
    cached += $5
    spilling[$1] += $6
    refused[$1] += $3 == "refused"
    not_taken += $3 == "not_taken"
    most[$1] = $7 > most[$1] + 0 ? $7 : most[$1] + 0
    all += $4
  }
  END {
    print "| architecture | kernels in f32 | in f16 | for all sizes | refused | with spills | most registers |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    count = split(arches, arch, " ")
    for (n = 1; n <= count; n++) {
      a = arch[n]
      printf "| `%s` | %d | %d | %d | %d | %d | %d |\n", a, kernels[a, "f32"], kernels[a, "f16"],
             kernels[a, "symbolic"], refused[a], spilling[a], most[a]
      refusals += refused[a]
      spills += spilling[a]
    }
    printf "\n%d rungs for %d architectures: %d kernels compiled, %d of them of a text that was compiled before; ", rungs,
           count, all, cached
    printf "refused by NVRTC: %d; with spills: %d; not taken in f16: %d.\n", refusals, spills, not_taken
    if (NR != runs)
      printf "%d of %d runs did not end\n", runs - NR, runs
    exit refusals + spills > 0 || NR != runs || all == 0
  }' "$folder/results" || bad=1

while read -r arch form status kernels cached spilling registers rung shape; do
  if [ "$status" = refused ]; then
    echo
    echo "## $rung at $shape, $form, for $arch:"
    head -n 20 "$folder/$(echo "$rung" | tr / .).$arch.$form.$shape.log"
  elif [ "$spilling" -gt 0 ]; then
    echo
    echo "## $rung at $shape, $form, for $arch spills: $spilling of $kernels kernels, $registers registers"
  fi
done <"$folder/results"
exit $bad
