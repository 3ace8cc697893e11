#!/bin/sh
# Builds nestsmith and its tests, installing what is missing, and runs every test. Arguments go to ctest.
set -eu
root=$(cd "$(dirname "$0")" && pwd)
. "$root/cmake/prepare.sh"

case ${1-} in
-h | --help)
  cat <<HELP
usage: ./test.sh [OPTIONS] [ARGUMENTS of ctest]
Builds nestsmith and its tests into build/, installing the Debian packages that are missing, and runs ctest.
$script_options
HELP
  exit 0
  ;;
esac

read_options "$@"
install_build_tools libgtest-dev libgmock-dev libz3-dev
prepare_headers
build_nestsmith ON all
prepare_nvrtc
say "testing"
eval "exec ctest --test-dir \"\$build\" --output-on-failure --progress -j \"\$(nproc)\" $arguments"
