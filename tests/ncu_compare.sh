#!/bin/sh
# ncu_compare.sh [ROOT]: tests bench/ncu_compare.py with a fake nestsmith and a fake profiler.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/nestsmith" <<'FAKE'
#!/bin/sh
case $1 in
doctor) echo "[{\"key\": \"gpu\", \"found\": $FOUND, \"facts\": {\"name\": \"NVIDIA H200\"}}]" ;;
explain)
  echo "$*" >>"$SAID"
  case $2 in tensor/*) tensor=', {"name": "smsp__inst_executed_op_ldsm.sum", "unit": "", "kind": "exact", "value": 64},
    {"name": "smsp__inst_executed_pipe_tensor_op_hmma.sum", "unit": "", "kind": "exact", "value": 32}' ;; esac
  cat <<JSON
{"dtype": "f16", "kernels": [{"kernel": "gemm", "metrics": [
  {"name": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "unit": "sector", "kind": "exact", "value": 4096000},
  {"name": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "unit": "", "kind": "exact", "value": 16.5},
  {"name": "dram__bytes.sum", "unit": "byte", "kind": "modelled", "value": 900},
  {"name": "nestsmith__barriers.sum", "unit": "", "kind": "exact", "value": 7},
  {"name": "gpu__time_duration.sum", "unit": "ns", "kind": "n/a", "value": null}${tensor-}]}]}
JSON
  ;;
*) exit 9 ;; # only the profiler runs the rung
esac
FAKE
cat >"$folder/ncu" <<'FAKE'
#!/bin/sh
echo "$*" >>"$SAID"
while [ $# -gt 0 ]; do
  [ "$1" != --log-file ] || log=$2
  shift
done
if [ "$SECTORS" = forbidden ]; then
  echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters" >"$log"
  exit 1
fi
cat >"$log" <<CSV
==PROF== Connected to process 1234
"ID","Kernel Name","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio","dram__bytes.sum","gpu__time_duration.sum","smsp__inst_executed_op_ldsm.sum","smsp__inst_executed_pipe_tensor_op_hmma.sum"
"","","sector","","byte","ns","inst","inst"
"0","gemm","$SECTORS","16.50","1,000","1,234,567","64","31"
CSV
FAKE
chmod +x "$folder/nestsmith" "$folder/ncu"

# expect CODE PATTERN...: expects that the last run ended with the code and printed a line for each pattern.
expect() {
  if [ "$code" != "$1" ]; then
    echo "expected exit code $1, got $code:" && cat "$folder/out" && exit 1
  fi
  shift
  for pattern in "$@"; do
    grep -q -- "$pattern" "$folder/out" || { echo "expected \"$pattern\" in:" && cat "$folder/out" && exit 1; }
  done
}
compare() {
  : >"$folder/said"
  code=0
  SAID=$folder/said "$root/bench/ncu_compare.py" "${RUNG:-deep_dive/naive}" --shape 64x64x64 --nestsmith "$folder/nestsmith" "$@" \
    >"$folder/out" 2>&1 || code=$?
}

export FOUND=true SECTORS=4,096,000
compare --ncu "$folder/ncu"
expect 0 "op_ld.sum *exact *4,096,000 *4,096,000  agrees" "ratio *exact *16.50 *16.50  agrees" \
  "dram__bytes.sum *modelled *900 *1,000  0.900 of it" "barriers.sum *exact *7 *-$" "2 of 2 exact figures agree"
# The rung is explained for this GPU and profiled at the same shape. Only metrics that the profiler knows are requested.
cp "$folder/said" "$folder/out"
expect 0 "^explain deep_dive/naive --gpu NVIDIA H200 --shape 64x64x64 --json" \
  "--kernel-name gemm .*,dram__bytes.sum,gpu__time_duration.sum .*run deep_dive/naive --device gpu --shape 64x64x64"
compare --ncu "$folder/ncu" --dtype f32
cp "$folder/said" "$folder/out"
expect 0 "^explain deep_dive/naive --gpu NVIDIA H200 --shape 64x64x64 --dtype f32 --json" \
  "run deep_dive/naive --device gpu --shape 64x64x64 --dtype f32"
# For a rung of matrix units, the numbers of calls and of ldmatrix are exact, too.
RUNG=tensor/swizzled compare --ncu "$folder/ncu"
expect 1 "^tensor/swizzled f16 64x64x64" "op_ldsm.sum *exact *64 *64  agrees" \
  "op_hmma.sum *exact *32 *31  DIFFERS" "3 of 4 exact figures agree"
SECTORS=4,095,999 compare --ncu "$folder/ncu"
expect 1 "op_ld.sum .*DIFFERS: 1.000 of it" "1 of 2 exact figures agree"
compare --ncu "$folder/ncu" --json
expect 0 '"hardware": 1234567.0' '"agrees": true' '"gpu": "NVIDIA H200"'
SECTORS=forbidden compare --ncu "$folder/ncu"
expect 4 "may not read the GPU's counters" "NVreg_RestrictProfilingToAdminUsers=0" "SYS_ADMIN"
FOUND=false compare --ncu "$folder/ncu"
expect 4 "there is no GPU here; .nestsmith doctor. says"
compare --ncu "$folder/nowhere"
expect 4 "no program $folder/nowhere"
printf '#!/bin/sh\necho "==ERROR== Failed to find metric x"; exit 1\n' >"$folder/ncu"
compare --ncu "$folder/ncu"
expect 4 "gave no figures for kernel gemm" "Failed to find metric x"
echo "the comparison compares, and says what it lacks"
