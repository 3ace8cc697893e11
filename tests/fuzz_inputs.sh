#!/bin/sh
# fuzz_inputs.sh [SECONDS [TARGET...]]: fuzzes the readers of input from outside (tests/tools/inputs), by default for
# ten minutes each. Needs clang 15 or newer with libFuzzer (Debian: clang-19 libclang-rt-19-dev); CXX names it. Inputs
# that fail are in build-fuzz/. After the fix, add them to the corpus, which the ordinary tests replay.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- trace command_line records table entry

cmake --preset fuzz -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" >/dev/null
cmake --build --preset fuzz --target $(printf 'fuzz_%s ' "$@")
sed -n 's/^PRIMITIVE(\([a-z_]*\))$/"\1"/p' dsl/schedule/primitives/list.inc |
  cat tests/tools/inputs/words.dict - >build-fuzz/words.dict
for target; do
  mkdir -p "build-fuzz/corpus/$target"
  build-fuzz/bin/fuzz_"$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=6000 -close_fd_mask=1 \
    -dict=build-fuzz/words.dict -artifact_prefix="build-fuzz/$target-" -print_final_stats=1 \
    "build-fuzz/corpus/$target" "tests/tools/inputs/corpus/$target"
done
