#!/bin/sh
# Builds nestsmith, installing what is missing, and runs `nestsmith run` with the arguments given.
set -eu
root=$(cd "$(dirname "$0")" && pwd)
. "$root/cmake/prepare.sh"

case ${1-} in
-h | --help)
  cat <<HELP
usage: ./run.sh [OPTIONS] [ARGUMENTS of nestsmith run]
Builds nestsmith into build/, installing the Debian packages that are missing, and runs build/bin/nestsmith run.
$script_options
HELP
  [ ! -x "$build/bin/nestsmith" ] || "$build/bin/nestsmith" run --help
  exit 0
  ;;
esac

read_options "$@"
install_build_tools
prepare_headers
build_nestsmith OFF OFF
prepare_nvrtc
eval "exec \"\$build/bin/nestsmith\" run $arguments"
