#!/bin/sh
# long_runs_test.sh [ROOT]: tests gpu_check.sh, nvrtc_all.sh and long_run.sh with a fake nestsmith, a fake sanitizer and
# a fake fuzzer.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/nestsmith" <<'FAKE'
#!/bin/sh
case $1 in
list)
  for rung in "a/one 3" "a/two 1"; do
    printf '{\n"name": "%s",\n"default_shape": [\n' "${rung% *}"
    seq "${rung#* }"
    printf ']\n}\n'
  done
  ;;
doctor) [ -n "${NO_NVRTC:-}" ] || echo '"arches": "sm_80 sm_90a"' ;;
check)
  if [ -n "${NO_GPU:-}" ]; then
    echo "nestsmith: no CUDA driver found" >&2
    exit 4
  fi
  [ "$2" != "${WRONG:-}" ] || { echo "C[0, 0]: got 1, expected 2" && exit 1; }
  ;;
compile)
  case " $* " in
  *" ${REFUSED:-none} "*) echo "nestsmith: kernel k does not compile" >&2 && exit 2 ;;
  *" --dtype f16 "*) [ "$2" != a/two ] || exit 3 ;;
  esac
  printf '"kernel": "k",\n"registers": 40,\n"spill_stores_bytes": 0,\n"spill_loads_bytes": %d,\n' "${SPILLS:-0}"
  ;;
esac
FAKE
cat >"$folder/sanitizer" <<'FAKE'
#!/bin/sh
[ "$2" != "${HAZARD:-}" ] || { echo "a hazard" && exit 9; }
while [ "$1" != check ]; do
  binary=$1 && shift
done
exec "$binary" "$@"
FAKE
cat >"$folder/fuzz" <<'FAKE'
#!/bin/sh
case " $* " in
*" ${FINDS:-none} "*) echo "mutant 7: crashed in judge" && exit 1 ;;
esac
echo "the next seed is $2"
FAKE
cat >"$folder/nestsmith_cli_tests" <<'FAKE'
#!/bin/sh
echo "full: $NESTSMITH_FULL, $2"
[ -z "${WRONG_ADVICE:-}" ]
FAKE
chmod +x "$folder/nestsmith" "$folder/sanitizer" "$folder/fuzz" "$folder/nestsmith_cli_tests"

bad=0
# shows CODE TEXT COMMAND...: expects that the command ends with the code and prints the text.
shows() {
  wanted=$1 text=$2 code=0
  shift 2
  said=$("$@" 2>&1) || code=$?
  [ $code -eq "$wanted" ] || { echo "exit code $code, not $wanted: $*" && bad=1; }
  case $said in
  *"$text"*) ;;
  *) printf 'no "%s" in what is said by %s:\n%s\n' "$text" "$*" "$said" && bad=1 ;;
  esac
}
gpu=$root/tests/gpu_check.sh nvrtc=$root/tests/nvrtc_all.sh fake=$folder/nestsmith
export COMPUTE_SANITIZER="$folder/sanitizer"

shows 0 "usage: gpu_check.sh" "$gpu" --help
shows 2 "gpu_check.sh: give the nestsmith" "$gpu"
shows 2 "no rung a/three" "$gpu" "$fake" a/three
shows 4 "gpu_check.sh: no $folder/nowhere: CUDA brings it" env COMPUTE_SANITIZER="$folder/nowhere" "$gpu" "$fake"
shows 4 "gpu_check.sh: nestsmith: no CUDA driver found" env NO_GPU=1 "$gpu" "$fake"
shows 0 "| \`a\`: one, two | 2 of 2 equal | 2 of 2 | no error | no hazard | no error | no error |" "$gpu" "$fake"
shows 0 "6 of 6 runs ended with exit code 0." "$gpu" -j 2 "$fake" a/two
shows 1 "| no error | 2 of 2 FAILED | no error |" env HAZARD=racecheck "$gpu" "$fake"
shows 1 "## ring of a/two at 1000: exit code 1
C[0, 0]: got 1, expected 2" env WRONG=a/two "$gpu" "$fake"

shows 0 "usage: nvrtc_all.sh" "$nvrtc" --help
shows 4 "nvrtc_all.sh: no NVRTC" env NO_NVRTC=1 "$nvrtc" "$fake"
shows 0 "| \`sm_90a\` | 4 | 2 | 4 | 0 | 0 | 40 |" "$nvrtc" "$fake"
shows 0 "2 rungs for 2 architectures: 20 kernels compiled" "$nvrtc" -j 2 "$fake"
shows 1 "refused by NVRTC: 6" env REFUSED=sm_80 "$nvrtc" "$fake" a/one
shows 1 "## a/one at 1024x1024x1024, f32, for sm_80 spills: 1 of 1 kernels" env SPILLS=8 "$nvrtc" "$fake" a/one

long=$root/tests/long_run.sh
shows 0 "usage: long_run.sh" "$long" --help
shows 2 "long_run.sh: give the nestsmith_fuzz" "$long"
shows 2 "long_run.sh: no program $folder/nothing" "$long" "$folder/nothing"
shows 0 "## warps from the seed 100000005: exit code 0
the next seed is 100000005" "$long" -j 1 "$folder/fuzz" 1 5
shows 1 "## mutants from the seed 200000001: exit code 1
mutant 7: crashed in judge" env FINDS=--mutate-traces "$long" -j 2 "$folder/fuzz" 1
shows 0 "full: 1, --gtest_filter=Advice.OfRungs*" "$long" -j 1 "$folder/fuzz" 1
shows 1 "full: 1" env WRONG_ADVICE=1 "$long" -j 1 "$folder/fuzz" 1
exit $bad
