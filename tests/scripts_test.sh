#!/bin/sh
# scripts_test.sh [ROOT]: tests the choice of an LLVM, the list of skipped tests, the cost of tests and of parts, and the options of
# fresh_machine.sh.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect CODE TEXT COMMAND...: expects the exit code and a part of the output.
expect() {
  code=$1 part=$2
  shift 2
  got=0
  text=$("$@" 2>&1) || got=$?
  case $text in *"$part"*) found=yes ;; *) found= ;; esac
  [ "$got" = "$code" ] && [ -n "$found" ] || {
    printf 'expected exit code %s and "%s", got %s from %s:\n%s\n' "$code" "$part" "$got" "$*" "$text"
    failed=1
  }
}

# choose VERSIONS [DEFINITION...]: prints the version that choose_llvm.cmake chooses if these versions are installed.
choose() {
  rm -rf "$folder/llvms"
  for version in $1; do
    mkdir -p "$folder/llvms/llvm-$version/lib"
    : >"$folder/llvms/llvm-$version/lib/libLLVMSupport.a"
  done
  shift
  cat >"$folder/choose.cmake" <<CMAKE
include($root/cmake/choose_llvm.cmake)
message("took [\${NESTSMITH_LLVM_DIR}] of others [\${other_llvms}]")
CMAKE
  cmake -Dnestsmith_llvms="$folder/llvms" "$@" -P "$folder/choose.cmake"
}
expect 0 "took [$folder/llvms/llvm-14] of others []" choose "14"
expect 0 "took [$folder/llvms/llvm-19] of others [; also installed: 14; " choose "14 19"
expect 0 "took [$folder/llvms/llvm-19] of others [; also installed: 14, 22, 21; " choose "14 19 21 22"
expect 0 "took [$folder/llvms/llvm-22] of others [; also installed: 21; " choose "13 21 22"
expect 0 "took [] of others []" choose "13"
expect 0 "took [] of others []" choose ""
expect 0 "took [/opt/llvm] of others []" choose "14 19" -DNESTSMITH_LLVM_DIR=/opt/llvm
expect 0 "took [] of others []" choose "14 19" -DLLVM_DIR=/opt/llvm/lib/cmake/llvm

cat >"$folder/tests.xml" <<'XML'
<testsuite>
	<testcase name="A.Passes" time="1" status="run">
		<system-out>[       OK ] A.Passes</system-out>
	</testcase>
	<testcase name="A.Skips/one" time="1" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
		<system-out>[ RUN      ] A.Skips/one
a_test.cpp:5: Skipped
needs &quot;x&quot; &amp; y

[  SKIPPED ] A.Skips/one</system-out>
	</testcase>
	<testcase name="B.Skips" time="1" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
	</testcase>
</testsuite>
XML
skipped() { "$root/tests/skipped.sh" "$folder/tests.xml" "$@"; }
printf '# a list\n\nA.Skips*   # why\n' >"$folder/one"
printf 'B.Skips\n' >"$folder/two"
expect 0 "2 skipped:
  A.Skips/one: needs \"x\" & y
  B.Skips: no reason given" skipped
expect 1 "B.Skips may not be skipped here: mend this, or add it to $folder/one" skipped "$folder/one"
expect 1 "A.Skips/one may not be skipped here" skipped "$folder/two"
expect 0 "2 skipped" skipped "$folder/one" "$folder/two"
sed -i '/Skips/,$d; s/$//' "$folder/tests.xml"
expect 0 "no test was skipped" skipped "$folder/one"

cat >"$folder/costs.xml" <<'XML'
<testsuite>
	<testcase name="Others/EveryRung.IsRight/tensor_tuned_65x33x17" classname="x" time="1.5" status="run"/>
	<testcase name="Rungs/OneKernel.ServesEveryShape/tensor_tuned" classname="x" time="2.25" status="run"/>
	<testcase name="Rungs/OneKernel.ServesEveryShape/fast_best" classname="x" time="0.5" status="run"/>
	<testcase name="Names.OfAll" classname="x" time="0.125" status="run"/>
</testsuite>
XML
expect 0 "the tests took 4 s, one at a time; by net:
      2.8 s  OneKernel.ServesEveryShape (2 tests)
      1.5 s  EveryRung.IsRight
      0.1 s  Names.OfAll
nestsmith: by rung, with its slowest test:
      3.8 s  tensor_tuned: 2.2 s in OneKernel.ServesEveryShape
      0.5 s  fast_best: 0.5 s in OneKernel.ServesEveryShape" "$root/tests/cost.sh" "$folder/costs.xml"

expect 2 "usage: cost_parts.sh [BUILD]" "$root/tests/cost_parts.sh" one two
expect 2 "$folder has no .ninja_log; build with ninja first" "$root/tests/cost_parts.sh" "$folder"
printf '# ninja log v5\n0\t3000\t1\tlowering/CMakeFiles/x.dir/flatten.cpp.o\t1\n0\t1000\t1\tdsl/CMakeFiles/x.dir/ir/region.cpp.o\t2\n' >"$folder/.ninja_log"
expect 0 "  75.0 %" "$root/tests/cost_parts.sh" "$folder"

fresh() { "$root/tests/fresh_machine.sh" "$@"; }
expect 0 "usage: tests/fresh_machine.sh" fresh --help
expect 1 "'11' is neither an option nor 12 or 13; see --help" fresh 11
expect 1 "--llvm needs a version, such as 19" fresh --llvm
expect 0 "--all           run every test" "$root/test.sh" --help
exit "$failed"
