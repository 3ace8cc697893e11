# Read by run.sh and test.sh, which set `root`: what it takes to get from a Debian machine with git and a
# shell to a built nestsmith with NVRTC at hand. Everything it says goes to stderr.

build=$root/build
wheels=$build/wheels

say() { printf 'nestsmith: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 1
}

# install PACKAGE...: what Debian has and this machine lacks. Other systems bring their own.
install() {
  command -v dpkg-query >/dev/null || return 0
  installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  missing=
  for package in "$@"; do
    case $installed in
    *" installed:$package "*) ;;
    *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif command -v sudo >/dev/null; then
    as_root=sudo
  else
    say "you are neither root nor have sudo; have someone run: apt-get install$missing"
    return 1
  fi
  say "installing$missing"
  log=$(mktemp)
  # shellcheck disable=SC2086 # a list of words
  if ! { $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
    --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

install_build_tools() {
  packages="cmake ninja-build g++ libfmt-dev libeigen3-dev zlib1g-dev libzstd-dev libsqlite3-dev"
  # Any LLVM from 14 on will do; cmake/choose_llvm.cmake chooses among several. llvm-dev is the one that this Debian ships.
  for library in /usr/lib/llvm-*/lib/libLLVMSupport.a /usr/lib/llvm-*/lib64/libLLVMSupport.a; do
    [ -e "$library" ] && found_llvm=yes
  done
  [ -n "${found_llvm-}" ] || packages="$packages llvm-dev"
  # shellcheck disable=SC2086 # a list of words
  install $packages "$@" || fail "cannot go on without the packages above"
}

# quietly WHAT COMMAND...: the command's output is shown only where it fails.
quietly() {
  what=$1
  shift
  log=$build/$what.log
  "$@" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    fail "$what failed; all of it is in $log"
  }
}

# build_nestsmith TESTS ALL_TESTS: TESTS is ON or OFF, and so is ALL_TESTS, which adds the programs of the long tests. A tree
# that has tests keeps them.
build_nestsmith() {
  mkdir -p "$build"
  if ! configured "NESTSMITH_TESTS:BOOL=$1" "NESTSMITH_TESTS:BOOL=ON" ||
    ! configured "NESTSMITH_ALL_TESTS:BOOL=$2" "NESTSMITH_ALL_TESTS:BOOL=ON" || ! [ -e "$build/build.ninja" ]; then
    say "configuring build/"
    (cd "$root" && quietly configure cmake --preset release -DNESTSMITH_TESTS="$1" -DNESTSMITH_ALL_TESTS="$2")
    llvm=$(sed -n 's/^-- \(LLVM .*\)/\1/p' "$build/configure.log")
    [ -z "$llvm" ] || say "$llvm"
  fi
  target=nestsmith
  [ "$1" = OFF ] || target=all
  # Says so only where there is something to build.
  (sleep 1 >/dev/null 2>&1 && say "building (from nothing: $([ "$1" = ON ] && echo three to nine || echo two to five) minutes)") &
  notice=$!
  trap 'kill "$notice" 2>/dev/null || true' EXIT
  quietly build cmake --build "$build" --target "$target"
  kill "$notice" 2>/dev/null || true
  trap - EXIT
}

# configured ENTRY...: whether one of these entries is in the cache of the build.
configured() {
  for entry in "$@"; do
    ! grep -qs "^$entry" "$build/CMakeCache.txt" || return 0
  done
  return 1
}

unpack_wheels() {
  for wheel in "$1"/*.whl; do
    [ -e "$wheel" ] || fail "no wheel (*.whl) in $1"
    say "unpacking $(basename "$wheel")"
    (cd "$wheels" && cmake -E tar xf "$wheel") || fail "$wheel is not a wheel"
  done
}

# The wheels of CUDA $1 (12 or 13). cuBLAS only where there is a GPU to compare on.
fetch_wheels() {
  case $1 in
  12) names="nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12" cublas=nvidia-cublas-cu12 ;;
  13) names="nvidia-cuda-nvrtc==13.* nvidia-cuda-runtime==13.*" cublas="nvidia-cublas==13.*" ;;
  *) fail "--cuda is 12 or 13, got $1" ;;
  esac
  [ ! -e /dev/nvidiactl ] || names="$names $cublas"
  download_wheels "NVRTC and the CUDA headers"
}

# download_wheels WHAT: the wheels of the list `names`, unpacked into build/wheels.
download_wheels() {
  if ! python3 -m pip --version >/dev/null 2>&1; then
    install python3-pip || return 1
  fi
  say "getting $1 (pip download $names)"
  # shellcheck disable=SC2086 # a list of words
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$wheels/download" $names \
    >"$build/wheels.log" 2>&1 || return 1
  unpack_wheels "$wheels/download"
  rm -rf "$wheels/download"
}

# What only tests need: CUPTI, which knows the names of metrics, and nvcc. Those of PATH, of a toolkit in its usual
# place, or wheels.
prepare_test_wheels() {
  for folder in "$wheels/nvidia/cu13/bin" /usr/local/cuda/bin; do
    command -v nvcc >/dev/null || ! [ -x "$folder/nvcc" ] || PATH=$folder:$PATH
  done
  if command -v nvcc >/dev/null || [ -n "$no_cuda" ] || [ -n "$wheels_from" ] || [ "${cuda:-13}" = 12 ]; then
    return
  fi
  mkdir -p "$wheels"
  # The compiler, its headers and the runtime are of one version. Later versions of CUPTI need a driver.
  names="nvidia-cuda-nvcc==13.* nvidia-nvvm==13.* nvidia-cuda-crt==13.* nvidia-cuda-runtime==13.* nvidia-cuda-cccl==13.* nvidia-cuda-cupti==13.0.*"
  download_wheels "nvcc and CUPTI" || {
    say "could not get nvcc and CUPTI (see build/wheels.log): the tests that need them are skipped"
    return
  }
  chmod +x "$wheels"/nvidia/cu13/bin/* "$wheels"/nvidia/cu13/nvvm/bin/*
  PATH=$wheels/nvidia/cu13/bin:$PATH
}

# The newest CUDA that the driver takes: 13 where there is no driver.
driver_cuda() {
  case $(nvidia-smi 2>/dev/null) in
  *"CUDA Version: 12"*) echo 12 ;;
  *) echo 13 ;;
  esac
}

# Whether the tool itself finds an NVRTC. Its path is kept, because asking opens every library of CUDA.
has_nvrtc() {
  found=$build/nvrtc_path
  [ -e "$found" ] && [ -e "$(cat "$found")" ] && return 0
  "$build/bin/nestsmith" doctor --json 2>/dev/null | tr -d '\n' |
    sed -n 's/.*"key": *"nvrtc"[^}]*"path": *"\([^"]*\)".*/\1/p' >"$found"
  [ -s "$found" ]
}

# Wheels into build/wheels, unless they were refused or could not be had before. Says at most once why there are none.
get_wheels() {
  [ -z "${without_wheels-}" ] || return 0
  without_wheels=yes
  if [ -n "$no_cuda" ]; then
    say "no CUDA wanted: going on without $1"
  elif [ -e "$build/no_wheels" ]; then
    say "going on without $1 (--cuda 13 tries to get it again, --wheels DIR takes it from a folder)"
  else
    mkdir -p "$wheels"
    fetch_wheels "${cuda:-$(driver_cuda)}" || {
      rm -rf "$wheels/download"
      : >"$build/no_wheels"
      say "could not get $1 (see build/wheels.log): going on without"
    }
  fi
}

# Before the build, which includes a header of CUDA: the wheels that were asked for, or else those that have the header
# where this machine has none.
prepare_headers() {
  if [ -n "$wheels_from" ]; then
    [ -d "$wheels_from" ] || fail "--wheels: no folder $wheels_from"
    mkdir -p "$wheels"
    unpack_wheels "$(cd "$wheels_from" && pwd)"
    rm -f "$build/no_wheels"
  elif [ -n "$cuda" ]; then
    rm -f "$build/no_wheels"
    get_wheels "CUDA $cuda"
  elif ! [ -d "$wheels/nvidia" ] && ! cmake -P "$root/cmake/find_cuda_occupancy.cmake" >/dev/null 2>&1; then
    get_wheels "cuda_occupancy.h and NVRTC"
  fi
}

# After the build: NVRTC from a toolkit, wheels or the system as the tool itself finds it, else into build/wheels.
prepare_nvrtc() {
  [ -n "$wheels_from$cuda" ] || [ -d "$wheels/nvidia" ] || has_nvrtc || get_wheels NVRTC
}

script_options='  --no-cuda       do not get NVRTC and cuda_occupancy.h where this machine has none
  --cuda VERSION  get NVRTC and the CUDA headers, 12 or 13, into build/wheels, whatever else is there
  --wheels DIR    take them from the wheels (*.whl) in DIR, without a network'

# Takes the options of the scripts out of "$@"; the rest is in `arguments`, quoted for eval. Only test.sh has --all.
takes_all=
read_options() {
  no_cuda='' cuda='' wheels_from='' all_tests=OFF arguments=''
  while [ $# -gt 0 ]; do
    case $1 in
    --no-cuda) no_cuda=yes ;;
    --all) if [ -n "$takes_all" ]; then all_tests=ON; else arguments="$arguments --all"; fi ;;
    --cuda | --wheels)
      [ $# -gt 1 ] || fail "$1 needs a value"
      if [ "$1" = --cuda ]; then cuda=$2; else wheels_from=$2; fi
      shift
      ;;
    *) arguments="$arguments '$(printf '%s' "$1" | sed "s/'/'\\\\''/g")'" ;;
    esac
    shift
  done
}
