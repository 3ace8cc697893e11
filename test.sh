#!/bin/sh
# Builds nestsmith and its tests, installing what is missing, and runs them. Arguments go to ctest.
set -eu
root=$(cd "$(dirname "$0")" && pwd)
. "$root/cmake/prepare.sh"

case ${1-} in
-h | --help)
  cat <<HELP
usage: ./test.sh [--all] [OPTIONS] [ARGUMENTS of ctest]
Builds nestsmith and its tests into build/, installing the Debian packages that are missing, and runs the tests
that show that this build is good. Skipped tests are listed at the end, each with its reason.
  --all           run every test: also all proofs, random schedules, seeded bugs and architectures (tests/long_tests.cmake)
$script_options
HELP
  exit 0
  ;;
esac

takes_all=yes
read_options "$@"
if [ "$all_tests" = ON ]; then
  install_build_tools libgtest-dev libgmock-dev libz3-dev python3 chromium fonts-dejavu-core
  which_tests=
else
  install_build_tools libgtest-dev libgmock-dev
  which_tests='--label-exclude long'
fi
prepare_headers
build_nestsmith ON "$all_tests"
prepare_nvrtc
[ "$all_tests" = OFF ] || prepare_test_wheels
say "testing"
junit=$build/tests.xml
rm -f "$junit"
status=0
eval "ctest --test-dir \"\$build\" --output-on-failure --progress -j \"\$(nproc)\" --output-junit \"\$junit\" $which_tests $arguments" ||
  status=$?
[ ! -e "$junit" ] || "$root/tests/skipped.sh" "$junit" >&2
exit "$status"
