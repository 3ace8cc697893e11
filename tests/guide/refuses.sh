#!/bin/sh
# refuses.sh NESTSMITH_GUIDE: tests that the guide's checker reports blocks that do not run or that print another
# output.
set -eu
tool=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '#!/bin/sh\necho "it ran"\n' >my_kernels
chmod +x my_kernels
printf '```cmake\nadd_executable(my_schedule my_schedule.cpp)\n```\n' >README.md

# expect STATUS TEXT LINE…: runs a guide of these lines, and expects the exit status and a part of the output.
expect() {
  status=$1 text=$2
  shift 2
  printf '%s\n' "$@" >guide.md
  got=0
  "$tool" run guide.md README.md my_kernels >out 2>&1 || got=$?
  if [ "$got" != "$status" ] || ! grep -qF -- "$text" out; then
    echo "expected status $status and '$text' of"
    cat guide.md
    echo "got status $got and"
    cat out
    exit 1
  fi
}
run='./my_kernels'
expect 0 '1 blocks of commands run, 1 outputs compared, 0 wrong' '```sh' "$run" '```' '```text' 'it ran' '```'
expect 0 '0 wrong' '```sh' "$run" "$run" '```' '```text' '…' 'it ran' '```'
expect 1 'guide.md:5: expected' '```sh' "$run" '```' '```text' 'it walked' '```'
expect 1 '1 wrong' '```sh' "$run" '```' '```text' 'it ran' 'twice' '```'
expect 1 '1 wrong' '```sh' "$run" "$run" '```' '```text' 'it ran' '```'
expect 1 'guide.md:2: the commands fail with status' '```sh' 'false' "$run" '```'
expect 1 'README.md has no such cmake block' '```cmake' 'add_library(my_kernels)' '```'
expect 0 '0 wrong' '```cmake' 'add_executable(my_kernels my_kernels.cpp)' '```'
expect 2 "line 1: a block of the kind 'c++', expected cpp, sh, text or cmake" '```c++' '```'
expect 2 "line 1: a block of the kind '', expected cpp" '```' 'it ran' '```'
expect 2 'line 1: a text block shows what the sh block before it prints, but there is none' '```text' '```'
expect 2 'line 2: a block begins inside of another' '```sh' '```text' '```'
expect 2 'the last block has no end' '```sh' "$run"

# With NESTSMITH_REWRITE_GOLDENS=1, the checker writes the output to the page.
printf '%s\n' '```sh' "$run" '```' '```text' 'it walked' '```' 'The end.' >guide.md
NESTSMITH_REWRITE_GOLDENS=1 "$tool" run guide.md README.md my_kernels >out
printf '%s\n' '```sh' "$run" '```' '```text' 'it ran' '```' 'The end.' | cmp - guide.md
